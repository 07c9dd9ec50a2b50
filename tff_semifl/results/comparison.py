# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table that compares training on labels alone with SemiFL."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tff_semifl.results import markdown
from tff_semifl.results import summary
from tff_semifl.runs import intervals


class Result(NamedTuple):
  """The last test accuracy, in [0, 1], and the minutes of all rounds.

  `is_right`, bool [images], says which test images are predicted correctly.
  """

  accuracy: float
  minutes: float
  is_right: np.ndarray


def to_markdown(rows: Sequence[tuple[int, Result, Result]]) -> str:
  """Accuracies and minutes as a Markdown table.

  Args:
    rows: For each seed, the results of the labels alone and of SemiFL, on the
      same images.
  """
  table_rows = [
    (
      str(seed),
      _show(alone),
      _show(semifl),
      _show_difference(alone, semifl),
      f'{alone.minutes:.1f} + {semifl.minutes:.1f}',
    )
    for seed, alone, semifl in rows
  ]
  if len(rows) > 1:
    alone, semifl = (
      [result.accuracy for result in column]
      for column in list(zip(*rows, strict=True))[1:]
    )
    of_alone, found = summary.summarize(alone), summary.summarize(semifl, alone)
    table_rows.append(
      (
        'mean',
        summary.show_share(of_alone.mean, of_alone.deviation),
        summary.show_share(found.mean, found.deviation),
        f'{100 * found.difference:+.1f} points (standard error'
        f' {100 * found.error:.1f})',
        '',
      )
    )
  return markdown.table(
    ('seed', 'labels alone', 'SemiFL', 'difference', 'minutes'), table_rows
  )


def describe(class_sizes: Sequence[int], num_seeds: int) -> str:
  """The caption of the table."""
  text = (
    f'Accuracies are over {intervals.describe_images(class_sizes)}, with 95%'
    ' intervals: Wilson, and of paired differences Agresti and Min (2005).'
  )
  if num_seeds > 1:
    text += ' Means are over seeds, with standard deviations.'
  return text


def _show(result: Result) -> str:
  num_images = len(result.is_right)
  interval = intervals.of_accuracy(
    round(result.accuracy * num_images), num_images
  )
  return f'{result.accuracy:.1%} ({interval})'


def _show_difference(before: Result, after: Result) -> str:
  low, high = intervals.of_difference(before.is_right, after.is_right)
  difference = after.accuracy - before.accuracy
  num_images = len(after.is_right)
  return (
    f'{100 * difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f}),'
    f' {round(difference * num_images):+d} of {num_images} images'
  )
