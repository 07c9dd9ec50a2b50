# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The metrics of a run in a report, and differences between two runs."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tff_semifl.metrics import bootstrap
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.reports import run_record
from tff_semifl.results import summary
from tff_semifl.runs import intervals

# With so many images, one is half a point.
FEW_IMAGES = 200
_TITLES = {
  'accuracy': 'accuracy',
  'balanced_accuracy': 'balanced accuracy',
  'macro_f1': 'macro-F1',
  'auc': 'AUC, one class against the rest',
  'nll': 'negative log likelihood',
  'brier': 'Brier score',
  'ece': 'expected calibration error',
}
# With more logits, 500 samples take minutes.
_MAX_BOOTSTRAPPED = 500_000


class Measured(NamedTuple):
  """A metric as a report shows it.

  Attributes:
    title: What it is called.
    shown: Its value.
    interval: Its 95% interval; empty where there is none.
    better: 'higher' or 'lower'; empty where nobody says.
  """

  title: str
  shown: str
  interval: str
  better: str


def measure(run: run_record.RunRecord) -> Iterator[Measured]:
  """Yields the metrics of the model that a run keeps."""
  values = run.values
  known = ['loss']
  if run.evaluated is None:
    known.extend(set(_TITLES) & values.keys())
  else:
    known.extend(_TITLES)
  computed = compute(run)
  for name in _TITLES:
    if name in computed:
      yield Measured(
        _TITLES[name],
        summary.show(name, computed[name]) or 'not defined here',
        _interval(run, name),
        'higher' if metric_lib.METRICS[name].higher_is_better else 'lower',
      )
  # Metrics of the setting `metrics`; those by class have a table.
  for name, value in values.items():
    of_class = name.partition('/')[0] in metric_lib.METRICS and '/' in name
    if name not in known and not of_class:
      yield Measured(name, summary.show(name, value), '', '')


def compute(run: run_record.RunRecord) -> dict[str, float]:
  """The known metrics of a run, by name."""
  if run.evaluated is None:
    values = {'accuracy': run.trained.accuracy, **run.values}
    return {name: values[name] for name in _TITLES if name in values}
  labels, logits = _predictions(run)
  return {
    name: metric_lib.METRICS[name].compute(labels, logits) for name in _TITLES
  }


def is_comparable(
  before: run_record.RunRecord, after: run_record.RunRecord
) -> bool:
  """Whether two runs are known to be evaluated on the same images."""
  return (
    before.evaluated is not None
    and after.evaluated is not None
    and before.evaluated.digest == after.evaluated.digest
  )


def interval_of_difference(
  name: str, before: run_record.RunRecord, after: run_record.RunRecord
) -> tuple[float, float] | None:
  """Returns the 95% interval of a paired difference over images.

  Returns:
    The interval of the metric of `after` minus that of `before`: Agresti and
    Min's of the accuracy, that of the bootstrap of others; None if there are
    too many images.
  """
  labels, first = _predictions(before)
  _, second = _predictions(after)
  if name == 'accuracy':
    return intervals.of_difference(
      first.argmax(axis=1) == labels, second.argmax(axis=1) == labels
    )
  if first.size > _MAX_BOOTSTRAPPED:
    return None
  metric = metric_lib.METRICS[name].compute
  return bootstrap.interval_of_difference(metric, labels, first, second)


def _predictions(run: run_record.RunRecord) -> tuple[np.ndarray, np.ndarray]:
  """Labels, and logits whose softmax is the predicted probabilities."""
  scores = run.evaluated.scores
  least = np.finfo(np.float32).tiny
  return scores.labels, np.log(np.maximum(scores.probabilities, least))


def _interval(run: run_record.RunRecord, name: str) -> str:
  if run.evaluated is None:
    return ''
  labels, logits = _predictions(run)
  if name == 'accuracy':
    num_right = int(np.sum(logits.argmax(axis=1) == labels))
    return str(intervals.of_accuracy(num_right, len(labels)))
  if logits.size > _MAX_BOOTSTRAPPED:
    return 'too many images for a bootstrap'
  ends = bootstrap.interval(metric_lib.METRICS[name].compute, labels, logits)
  low, high = (summary.show(name, end) for end in ends)
  return f'{low} to {high}' if low else ''
