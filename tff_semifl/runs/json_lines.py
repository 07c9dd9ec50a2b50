# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Evaluated rounds as JSON on standard error, for log collectors."""

import datetime
import json
import math
import sys

from tff_semifl.runs import round_metrics


class JSONLines:
  """A JSON object in a line of its own for each evaluated round."""

  def __init__(self, experiment_name: str):
    """Initializes it; nothing is written yet.

    Args:
      experiment_name: Name of the run, which each object has.
    """
    self._experiment_name = experiment_name

  def start(self, first_round: int) -> None:
    """Writes nothing: only rounds are written."""

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Writes an object with time, experiment, round and metrics.

    The time is in ISO 8601, in UTC. Metrics have the names of the columns of
    `metrics.csv`; what was not measured is null.
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
