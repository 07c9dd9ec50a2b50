# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table that compares training on labels alone with training by SemiFL."""

from collections.abc import Sequence
import statistics
from typing import NamedTuple

from tff_semifl.experiments import markdown


class Result(NamedTuple):
  """The last test accuracy, in [0, 1], and the time that the rounds took."""

  accuracy: float
  minutes: float


def to_markdown(rows: Sequence[tuple[int, Result, Result]]) -> str:
  """Returns accuracies and minutes as a Markdown table.

  Args:
    rows: For each seed, the results of the labels alone and of SemiFL.
  """
  table_rows = [
    (
      str(seed),
      f'{alone.accuracy:.1%}',
      f'{semifl.accuracy:.1%}',
      f'{100 * (semifl.accuracy - alone.accuracy):+.1f} points',
      f'{alone.minutes:.1f} + {semifl.minutes:.1f}',
    )
    for seed, alone, semifl in rows
  ]
  if len(rows) > 1:
    alone, semifl = (
      [result.accuracy for result in column]
      for column in list(zip(*rows, strict=True))[1:]
    )
    differences = [b - a for a, b in zip(alone, semifl, strict=True)]
    table_rows.append(
      (
        'mean (standard deviation)',
        _mean_and_deviation(alone),
        _mean_and_deviation(semifl),
        f'{100 * statistics.mean(differences):+.1f} points',
        '',
      )
    )
  return markdown.table(
    ('seed', 'labels alone', 'SemiFL', 'difference', 'minutes'), table_rows
  )


def _mean_and_deviation(values: Sequence[float]) -> str:
  deviation = statistics.stdev(values)
  return f'{statistics.mean(values):.1%} ({100 * deviation:.1f})'
