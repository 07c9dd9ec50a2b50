# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Means, deviations and paired differences of runs that differ in a seed."""

from collections.abc import Sequence
import math
import statistics
from typing import NamedTuple

from tff_semifl.runs import intervals

# Metrics that are shares, which are shown in percent.
_SHARES = ('accuracy', 'balanced_accuracy')


class Summary(NamedTuple):
  """A metric over runs; None where there are too few.

  Attributes:
    mean: The mean of the complete runs.
    deviation: Their sample standard deviation, of two runs or more.
    difference: The mean of the paired differences to a baseline.
    error: The standard error of this mean, of two pairs or more.
  """

  mean: float | None
  deviation: float | None
  difference: float | None = None
  error: float | None = None


def summarize(
  values: Sequence[float | None], baseline: Sequence[float | None] = ()
) -> Summary:
  """Summarizes a metric.

  Args:
    values: The metric of each run; None for a run that is not complete.
    baseline: The metric of the baseline with the same seeds; empty for none.
  """
  mean, deviation = _mean([value for value in values if value is not None])
  pairs = zip(values, baseline, strict=True) if baseline else ()
  difference, spread = _mean(
    [a - b for a, b in pairs if a is not None and b is not None]
  )
  if spread is None:
    return Summary(mean, deviation, difference)
  num_pairs = sum(
    None not in pair for pair in zip(values, baseline, strict=True)
  )
  return Summary(mean, deviation, difference, spread / math.sqrt(num_pairs))


def show(name: str, value: float | None) -> str:
  """A metric as text: shares in percent, '' for what is not defined."""
  if value is None or math.isnan(value):
    return ''
  return f'{value:.1%}' if name in _SHARES else f'{value:.4g}'


def show_mean(name: str, values: Sequence[float]) -> str:
  """The mean of a metric as text."""
  return show(name, statistics.fmean(values))


def show_deviation(name: str, values: Sequence[float]) -> str:
  """The sample standard deviation of a metric as text."""
  if any(map(math.isnan, values)):
    return ''
  deviation = statistics.stdev(values)
  if name in _SHARES:
    return f'{100 * deviation:.1f} points'
  return show(name, deviation)


def show_interval(name: str, values: Sequence[float]) -> str:
  """Student's interval of the mean of a metric as text."""
  if any(map(math.isnan, values)):
    return ''
  low, high = (show(name, end) for end in intervals.of_mean(values))
  return f'{low} to {high}'


def show_share(mean: float | None, deviation: float | None) -> str:
  """A share in percent, with its deviation in points in parentheses."""
  if mean is None:
    return ''
  return f'{mean:.1%}' + (
    '' if deviation is None else f' ({100 * deviation:.1f})'
  )


def show_points(difference: float | None, error: float | None) -> str:
  """A difference of shares in points, with its error in parentheses."""
  if difference is None:
    return ''
  return f'{100 * difference:+.1f}' + (
    '' if error is None else f' ({100 * error:.1f})'
  )


def _mean(values: Sequence[float]) -> tuple[float | None, float | None]:
  if not values:
    return None, None
  mean = statistics.fmean(values)
  if len(values) == 1:
    return mean, None
  # The sample deviation: the seeds are a sample of all seeds.
  return mean, statistics.stdev(values) if math.isfinite(mean) else math.nan
