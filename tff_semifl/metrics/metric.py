# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics by name."""

from collections.abc import Callable, Sequence
import functools
import re
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.metrics import class_metrics
from tff_semifl.metrics import outside_metrics
from tff_semifl.metrics import probability_metrics

_TOP = re.compile(r'top_([1-9][0-9]*)')


class Metric(NamedTuple):
  """A metric of all evaluated images.

  Attributes:
    name: The name of its column, after `test/` or `validation/`.
    compute: (labels, logits) -> a number, or float [classes] if `by_class`. NaN
      where undefined.
    higher_is_better: Whether better models have higher values.
    by_class: Whether there is a value for each class.
    min_classes: The fewest classes that the metric applies to.
  """

  name: str
  compute: Callable[[np.ndarray, np.ndarray], Any]
  higher_is_better: bool = True
  by_class: bool = False
  min_classes: int = 2

  def columns(self, class_names: Sequence[str]) -> list[str]:
    """The names of the columns, in order."""
    if not self.by_class:
      return [self.name]
    return [f'{self.name}/{each}' for each in class_names]


METRICS = {
  each.name: each
  for each in (
    Metric('accuracy', class_metrics.accuracy),
    Metric('balanced_accuracy', class_metrics.balanced_accuracy),
    Metric('macro_f1', class_metrics.macro_f1),
    Metric('recall', class_metrics.recall, by_class=True),
    Metric('precision', class_metrics.precision, by_class=True),
    Metric('auc', class_metrics.auc),
    Metric('ece', probability_metrics.ece, higher_is_better=False),
    Metric('nll', probability_metrics.nll, higher_is_better=False),
    Metric('brier', probability_metrics.brier, higher_is_better=False),
  )
}


def is_own(name: str) -> bool:
  """Whether this package has a metric of a name."""
  return name in METRICS or _TOP.fullmatch(name) is not None


def load(name: str) -> Metric:
  """The metric of a name."""
  if name in METRICS:
    return METRICS[name]
  if ':' in name:
    outside = outside_metrics.load(name)
    if is_own(outside.name) or outside.name == 'loss':
      raise ValueError(f'has the name of another metric, {outside.name}')
    return Metric(outside.name, outside.compute, outside.higher_is_better)
  found = _TOP.fullmatch(name)
  if found is None:
    known = [*METRICS, 'top_5']
    raise ValueError(
      f'{settings.did_you_mean(name, known)}must be one of'
      f' {", ".join(METRICS)}, top_K, or package.module:NAME'
    )
  k = int(found[1])
  return Metric(
    name, functools.partial(class_metrics.top_k, k=k), min_classes=k + 1
  )
