# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tables of runs that differ in the seed or in the validation fold.

References:
  Student. The probable error of a mean. Biometrika, 1908.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.results import markdown
from tff_semifl.results import summary


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


def seeds_to_markdown(runs: Sequence[Repetition]) -> str:
  """A table of each seed's metrics, with mean, deviation and interval."""
  rows = [[run.name, str(run.round_num), *_show_all(run)] for run in runs]
  names = list(runs[0].values)
  if len(runs) > 1:
    found = {
      name: summary.summarize([run.values[name] for run in runs])
      for name in names
    }
    for title, show, field in (
      ('mean', summary.show, 'mean'),
      ('standard deviation', summary.show_deviation, 'deviation'),
      ('95% interval', summary.show_interval, 'interval'),
    ):
      cells = [show(name, getattr(found[name], field)) for name in names]
      rows.append([title, '', *cells])
  return markdown.table(['seed', 'round', *names], rows)


def folds_to_markdown(runs: Sequence[Repetition]) -> str:
  """A table of each fold's metrics."""
  return markdown.table(
    ['fold', 'images', 'round', *runs[0].values],
    (
      [run.name, str(len(run.labels)), str(run.round_num), *_show_all(run)]
      for run in runs
    ),
  )


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


def _show_all(run: Repetition) -> list[str]:
  return [summary.show(name, value) for name, value in run.values.items()]
