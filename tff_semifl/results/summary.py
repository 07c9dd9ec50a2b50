# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Means and differences of runs that differ in the seed or validation fold.

References:
  Student. The probable error of a mean. Biometrika, 1908.
"""

from collections.abc import Iterator, Mapping, Sequence
import math
import statistics
from typing import NamedTuple

import numpy as np

from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.results import markdown

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


def show_interval(name: str, interval: intervals.Interval | None) -> str:
  """An interval of a metric as text."""
  if interval is None or math.isnan(interval.low):
    return ''
  return f'{show(name, interval.low)} to {show(name, interval.high)}'


def show_difference(name: str, found: Summary) -> str:
  """A mean difference as text, in points for shares, with its interval."""
  if found.mean is None or math.isnan(found.mean):
    return ''
  mean, *ends = (
    f'{100 * end:+.1f}' if name in _SHARES else f'{end:+.3f}'
    for end in (found.mean, *(found.interval or ()))
  )
  return mean + (f' ({" to ".join(ends)})' if ends else '')


def show_mean(name: str, found: Summary) -> str:
  """A mean as text, with the deviation, in points for shares."""
  shown, deviation = show(name, found.mean), found.deviation
  if deviation is None or math.isnan(deviation):
    return shown
  if name in _SHARES:
    return f'{shown} ± {100 * deviation:.1f}'
  return f'{shown} ± {deviation:.2g}'


class Repetition(NamedTuple):
  """A run, named by its seed or fold, with metrics of the exported model.

  `labels`, int [images], and `logits`, float [images, classes], belong to the
  evaluated images. `values` are metrics by name, and may be NaN.
  """

  name: str
  round_num: int
  labels: np.ndarray
  logits: np.ndarray
  values: Mapping[str, float]


def to_markdown(runs: Sequence[Repetition], kind: str) -> str:
  """A table of runs; `kind` is 'seed', which also shows means, or 'fold'."""
  names = list(runs[0].values)
  rows = [
    [
      run.name,
      str(len(run.labels)),
      str(run.round_num),
      *(show(name, value) for name, value in run.values.items()),
    ]
    for run in runs
  ]
  if kind == 'seed' and len(runs) > 1:
    found = {
      name: summarize([run.values[name] for run in runs]) for name in names
    }
    means = (show_mean(name, each) for name, each in found.items())
    ends = (show_interval(name, each.interval) for name, each in found.items())
    rows += [['mean', '', '', *means], ['95% interval', '', '', *ends]]
  return markdown.table([kind, 'images', 'round', *names], rows)


def describe_out_of_fold(
  runs: Sequence[Repetition], metrics: Sequence[metric_lib.Metric]
) -> Iterator[str]:
  """Out-of-fold metrics: no image is predicted by a model trained on it."""
  labels = np.concatenate([run.labels for run in runs])
  logits = np.concatenate([run.logits for run in runs])
  num_right = int(np.sum(logits.argmax(axis=1) == labels))
  yield (
    f'out-of-fold accuracy: {intervals.show(num_right, len(labels))} of'
    f' {len(labels)} labeled images'
  )
  for metric in metrics:
    value = metric.compute(labels, logits)
    line = f'out-of-fold {metric.name}: {value:.4g}'
    # A user's metric may take long.
    if metric_lib.is_own(metric.name):
      low, high = intervals.bootstrap(metric.compute, labels, logits)
      line += f' (95% interval {low:.4g} to {high:.4g}, bootstrap)'
    yield line
