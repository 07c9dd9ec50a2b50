# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Evaluated rounds as JSON on standard error, for log collectors."""

import datetime
import json
import math
import sys

from tff_semifl.runs import round_metrics


class JSONLines:
  """A `progress.Watcher` that writes each evaluated round as a line of JSON."""

  def __init__(self, experiment_name: str):
    """Initializes the watcher; nothing is written yet.

    Args:
      experiment_name: Name of the run, a field of each object.
    """
    self._experiment_name = experiment_name

  def start(self, first_round: int) -> None:
    """Writes nothing: only rounds are written."""

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Writes an object with time, experiment, round and metrics.

    The time is UTC in ISO 8601. Metrics are named as the columns of
    `metrics.csv`, and null if not measured.
    """
    written = {
      'time': datetime.datetime.now(datetime.UTC).isoformat(),
      'experiment': self._experiment_name,
      'round': round_num,
      'metrics': {
        name: None if math.isnan(value) else value
        for name, value in round_metrics.by_column(metrics).items()
      },
    }
    print(json.dumps(written), file=sys.stderr, flush=True)
