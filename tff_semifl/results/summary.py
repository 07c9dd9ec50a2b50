# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Means, deviations and paired differences of runs that differ in a seed."""

from collections.abc import Sequence
import math
import statistics
from typing import NamedTuple

from tff_semifl.metrics import intervals

# Metrics that are shares, which are shown in percent.
_SHARES = ('accuracy', 'balanced_accuracy')


class Summary(NamedTuple):
  """A metric over runs; None where there are too few, NaN where undefined.

  `mean` and `deviation`, the sample's, are those of the complete runs, and
  `difference` is the mean of the paired differences to a baseline, with its
  standard `error`. Intervals are Student's 95% intervals of the means.
  """

  mean: float | None
  deviation: float | None
  interval: intervals.Interval | None
  difference: float | None
  error: float | None
  difference_interval: intervals.Interval | None


def summarize(
  values: Sequence[float | None], baseline: Sequence[float | None] = ()
) -> Summary:
  """Summarizes a metric.

  Args:
    values: The metric of each run; None for a run that is not complete.
    baseline: The metric of the baseline with the same seeds; empty for none.
  """
  mean, deviation, _, interval = _describe(values)
  differences = [
    None if a is None or b is None else a - b
    for a, b in (zip(values, baseline, strict=True) if baseline else ())
  ]
  difference, _, error, of_difference = _describe(differences)
  return Summary(mean, deviation, interval, difference, error, of_difference)


def show(name: str, value: float | None) -> str:
  """A metric as text: shares in percent, '' for what is not defined."""
  if value is None or math.isnan(value):
    return ''
  return f'{value:.1%}' if name in _SHARES else f'{value:.4g}'


def show_deviation(name: str, deviation: float | None) -> str:
  """A deviation as text: that of shares in points."""
  if deviation is None or math.isnan(deviation):
    return ''
  if name in _SHARES:
    return f'{100 * deviation:.1f} points'
  return show(name, deviation)


def show_interval(name: str, interval: intervals.Interval | None) -> str:
  """An interval of a metric as text."""
  if interval is None or math.isnan(interval.low):
    return ''
  return f'{show(name, interval.low)} to {show(name, interval.high)}'


def show_difference(
  name: str,
  difference: float | None,
  interval: tuple[float, float] | None = None,
) -> str:
  """A signed difference, of shares in points, with its interval if any."""
  if difference is None or math.isnan(difference):
    return ''
  ends = [difference, *(interval or ())]
  shown = [
    f'{100 * end:+.1f}' if name in _SHARES else f'{end:+.3f}' for end in ends
  ]
  return shown[0] + (f' ({" to ".join(shown[1:])})' if interval else '')


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


def _describe(
  values: Sequence[float | None],
) -> tuple[float | None, float | None, float | None, intervals.Interval | None]:
  """The mean, deviation, standard error and interval of complete runs."""
  known = [value for value in values if value is not None]
  if not known:
    return None, None, None, None
  mean = statistics.fmean(known)
  if len(known) == 1:
    return mean, None, None, None
  if not math.isfinite(mean):
    return mean, math.nan, math.nan, intervals.Interval(math.nan, math.nan)
  # The sample deviation: the seeds are a sample of all seeds.
  return (
    mean,
    statistics.stdev(known),
    intervals.standard_error(known),
    intervals.of_mean(known),
  )
