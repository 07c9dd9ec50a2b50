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
  """A metric over runs; None with too few runs, NaN if undefined.

  `deviation` is the sample's, `error` the standard error of the mean, and
  `interval` Student's 95% interval of the mean.
  """

  mean: float | None = None
  deviation: float | None = None
  error: float | None = None
  interval: intervals.Interval | None = None


def summarize(values: Sequence[float | None]) -> Summary:
  """Summarizes a metric over runs; None stands for an incomplete run."""
  known = [value for value in values if value is not None]
  if not known:
    return Summary()
  mean = statistics.fmean(known)
  if len(known) == 1:
    return Summary(mean)
  if not math.isfinite(mean):
    nan = math.nan
    return Summary(mean, nan, nan, intervals.Interval(nan, nan))
  # Sample deviation, because the seeds are a sample of all seeds.
  return Summary(
    mean,
    statistics.stdev(known),
    intervals.standard_error(known),
    intervals.of_mean(known),
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
  """A metric as text: shares in percent, '' if undefined."""
  if value is None or math.isnan(value):
    return ''
  return f'{value:.1%}' if name in _SHARES else f'{value:.4g}'


def show_deviation(name: str, deviation: float | None) -> str:
  """A deviation as text: in points for shares, else with two digits."""
  if deviation is None or math.isnan(deviation):
    return ''
  if name in _SHARES:
    return f'{100 * deviation:.1f} points'
  return f'{deviation:.2g}'


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
  """A signed difference as text, in points for shares, with any interval."""
  if difference is None or math.isnan(difference):
    return ''
  ends = [difference, *(interval or ())]
  shown = [
    f'{100 * end:+.1f}' if name in _SHARES else f'{end:+.3f}' for end in ends
  ]
  return shown[0] + (f' ({" to ".join(shown[1:])})' if interval else '')


def show_share(mean: float | None, deviation: float | None) -> str:
  """A share in percent, with the deviation in points in parentheses."""
  if mean is None:
    return ''
  return f'{mean:.1%}' + (
    '' if deviation is None else f' ({100 * deviation:.1f})'
  )


def show_points(difference: float | None, error: float | None) -> str:
  """A difference of shares in points, with the error in parentheses."""
  if difference is None:
    return ''
  return f'{100 * difference:+.1f}' + (
    '' if error is None else f' ({100 * error:.1f})'
  )
