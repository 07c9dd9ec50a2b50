# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Means and differences of runs that differ only in the seed.

References:
  Student. The probable error of a mean. Biometrika, 1908.
"""

from collections.abc import Sequence
import math
import statistics
from typing import NamedTuple

from scipy import stats

from tff_semifl.metrics import intervals

# Metrics that are fractions, which are shown in percent.
_SHARES = ('accuracy', 'balanced_accuracy')


class Summary(NamedTuple):
  """Statistics of a metric over runs; None with too few runs, NaN if undefined.

  `deviation` is the sample standard deviation, `error` the standard error of
  the mean, and `interval` Student's 95% interval of the mean.
  """

  mean: float | None = None
  deviation: float | None = None
  error: float | None = None
  interval: intervals.Interval | None = None


def summarize(values: Sequence[float | None]) -> Summary:
  """Summarizes a metric over runs; None marks an incomplete run."""
  known = [value for value in values if value is not None]
  if not known:
    return Summary()
  mean = statistics.fmean(known)
  if len(known) == 1:
    return Summary(mean)
  if not math.isfinite(mean):
    nan = math.nan
    return Summary(mean, nan, nan, intervals.Interval(nan, nan))
  # The sample deviation, because the seeds are a sample of all seeds.
  return Summary(
    mean, statistics.stdev(known), standard_error(known), of_mean(known)
  )


def compare(
  values: Sequence[float | None], baseline: Sequence[float | None]
) -> Summary:
  """Summarizes the differences to a baseline with the same seeds."""
  return summarize(
    [
      None if a is None or b is None else a - b
      for a, b in zip(values, baseline, strict=True)
    ]
  )


def show(name: str, value: float | None) -> str:
  """A metric as text: accuracies in percent, '' if undefined."""
  if value is None or math.isnan(value):
    return ''
  return f'{value:.1%}' if name in _SHARES else f'{value:.4g}'


def show_interval(name: str, interval: intervals.Interval | None) -> str:
  """An interval of a metric as text."""
  if interval is None or math.isnan(interval.low):
    return ''
  return f'{show(name, interval.low)} to {show(name, interval.high)}'


def show_difference(name: str, found: Summary) -> str:
  """A mean difference and its interval as text; accuracies in points."""
  if found.mean is None or math.isnan(found.mean):
    return ''
  mean, *ends = (
    f'{100 * end:+.1f}' if name in _SHARES else f'{end:+.3f}'
    for end in (found.mean, *(found.interval or ()))
  )
  return mean + (f' ({" to ".join(ends)})' if ends else '')


def show_mean(name: str, found: Summary) -> str:
  """A mean and its standard deviation as text; accuracies in percent."""
  shown, deviation = show(name, found.mean), found.deviation
  if deviation is None or math.isnan(deviation):
    return shown
  if name in _SHARES:
    return f'{shown} ± {100 * deviation:.1f}'
  return f'{shown} ± {deviation:.2g}'


def standard_error(values: Sequence[float]) -> float:
  """The standard error of the mean of at least two values."""
  return statistics.stdev(values) / math.sqrt(len(values))


def of_mean(values: Sequence[float]) -> intervals.Interval:
  """The 95% interval of the mean of two or more values (Student's t)."""
  mean = statistics.fmean(values)
  half = float(stats.t.ppf(0.975, len(values) - 1)) * standard_error(values)
  return intervals.Interval(mean - half, mean + half)
