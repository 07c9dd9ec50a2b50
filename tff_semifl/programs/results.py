# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a run has reached, read from its table of metrics."""

import pathlib
from typing import NamedTuple

from tff_semifl.programs import metrics_table


class Results(NamedTuple):
  """How far a run is, or was when it ended.

  Attributes:
    round_num: The last round that was run; -1 before any.
    accuracy: The test accuracy after it, 0 before any.
    best_accuracy: The highest test accuracy so far, 0 before any (D16).
    minutes: What all rounds took, those before an interruption too.
  """

  round_num: int
  accuracy: float
  best_accuracy: float
  minutes: float


class FinalTest(NamedTuple):
  """What the final test of SemiFL's authors finds (D11).

  Attributes:
    round_num: The round with the best test accuracy, the first of several.
    accuracy: Of its model, with the statistics of the final test.
  """

  round_num: int
  accuracy: float


_NO_ROUND = Results(-1, 0.0, 0.0, 0.0)


def read_results(path: pathlib.Path) -> Results:
  """Reads a `metrics.csv`.

  Args:
    path: The file; one that is not there has no round yet.

  Raises:
    metrics_table.MetricsError: If it cannot be read, or is something else.
  """
  if not path.exists():
    return _NO_ROUND
  metrics = metrics_table.read_metrics(path)
  if not len(metrics['round']):
    return _NO_ROUND
  for column in ('test/accuracy', 'test/best_accuracy', 'seconds'):
    if column not in metrics:
      raise metrics_table.MetricsError(f'{path} has no column {column}')
  return Results(
    int(metrics['round'][-1]),
    float(metrics['test/accuracy'][-1]),
    float(metrics['test/best_accuracy'][-1]),
    float(metrics['seconds'].sum()) / 60,
  )


def read_final_test(path: pathlib.Path) -> FinalTest | None:
  """Reads what the authors' final test finds, or None if it was not made.

  Args:
    path: A `metrics.csv`.

  Raises:
    metrics_table.MetricsError: If it cannot be read, or is something else.
  """
  metrics = metrics_table.read_metrics(path)
  if not {'test/accuracy', 'final_test/accuracy'} <= metrics.keys():
    return None
  if not len(metrics['round']):
    return None
  best = int(metrics['test/accuracy'].argmax())
  return FinalTest(
    int(metrics['round'][best]), float(metrics['final_test/accuracy'][best])
  )
