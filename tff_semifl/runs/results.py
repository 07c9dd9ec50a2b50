# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The results of a run, read from its table of metrics."""

import pathlib
from typing import NamedTuple

from tff_semifl.runs import metrics_table


class Results(NamedTuple):
  """The latest results of a run.

  Attributes:
    round_num: The latest round; -1 before any.
    accuracy: The accuracy after this round on the test images, or on a
      validation split used instead; 0 before any round.
    best_accuracy: The highest accuracy of all rounds; 0 before any.
    minutes: The duration of all rounds, including those before an interruption.
  """

  round_num: int
  accuracy: float
  best_accuracy: float
  minutes: float


class Validation(NamedTuple):
  """The result of a run on its validation split after the latest round.

  Attributes:
    loss: Mean cross-entropy.
    accuracy: Share of correct predictions.
    minutes: The duration of all rounds.
  """

  loss: float
  accuracy: float
  minutes: float


_NO_ROUND = Results(-1, 0.0, 0.0, 0.0)


def read_results(path: pathlib.Path) -> Results:
  """Reads the results in a `metrics.csv`."""
  if not path.exists():
    return _NO_ROUND
  metrics = metrics_table.read_metrics(path)
  if not len(metrics['round']):
    return _NO_ROUND
  kind = 'validation' if 'validation/accuracy' in metrics else 'test'
  _check_columns(
    path, metrics, f'{kind}/accuracy', f'{kind}/best_accuracy', 'seconds'
  )
  return Results(
    int(metrics['round'][-1]),
    float(metrics[f'{kind}/accuracy'][-1]),
    float(metrics[f'{kind}/best_accuracy'][-1]),
    float(metrics['seconds'].sum()) / 60,
  )


def read_validation(path: pathlib.Path) -> Validation:
  """Reads the result of a run on its validation split."""
  metrics = metrics_table.read_metrics(path)
  _check_columns(
    path, metrics, 'validation/loss', 'validation/accuracy', 'seconds'
  )
  return Validation(
    float(metrics['validation/loss'][-1]),
    float(metrics['validation/accuracy'][-1]),
    float(metrics['seconds'].sum()) / 60,
  )


def _check_columns(
  path: pathlib.Path, metrics: metrics_table.Metrics, *columns: str
) -> None:
  for column in columns:
    if column not in metrics:
      raise metrics_table.MetricsError(f'{path} has no column {column}')
