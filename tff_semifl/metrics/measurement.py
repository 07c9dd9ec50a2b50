# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The metrics of an evaluation, over all of its images at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from tff_semifl.metrics import metric as metric_lib

# The metrics of every evaluation, and whether higher is better.
ALWAYS = {'accuracy': True, 'loss': False}


class MetricError(Exception):
  """A metric cannot be computed."""

  def __init__(self, name: str, reason: str):
    """Initializes the error."""
    super().__init__(f'{name}: {reason}')
    self.name = name
    self.reason = reason


class Measurement:
  """Computes metrics of logits, of the same images each time."""

  def __init__(
    self, names: Sequence[str], class_names: Sequence[str], labels: np.ndarray
  ):
    """Loads the metrics, and tries each on random logits.

    Args:
      labels: int [images], in the order of the logits.
    """
    self._labels = np.asarray(labels)
    self._class_names = class_names
    self._metrics: dict[str, metric_lib.Metric] = {}
    taken = set()
    for name in dict.fromkeys(names):
      try:
        metric = metric_lib.load(name)
      except ValueError as error:
        raise MetricError(name, str(error)) from error
      if metric.name in ALWAYS:
        continue
      if metric.name in taken:
        raise MetricError(name, f'two metrics have the name {metric.name}')
      if len(class_names) < metric.min_classes:
        raise MetricError(
          name, f'is the same for all models of {len(class_names)} classes'
        )
      taken.add(metric.name)
      self._metrics[name] = metric
    shape = len(self._labels), len(class_names)
    self(np.random.default_rng(0).normal(size=shape).astype(np.float32))

  def __bool__(self) -> bool:
    """Whether there is any metric."""
    return bool(self._metrics)

  @property
  def metrics(self) -> tuple[metric_lib.Metric, ...]:
    """The metrics, in order."""
    return tuple(self._metrics.values())

  @property
  def directions(self) -> Mapping[str, bool]:
    """Whether higher is better, by column; includes `ALWAYS`."""
    return {
      **ALWAYS,
      **{
        column: metric.higher_is_better
        for metric in self._metrics.values()
        for column in metric.columns(self._class_names)
      },
    }

  def __call__(self, logits: np.ndarray) -> dict[str, float]:
    """Computes all metrics.

    Args:
      logits: float [images, classes].

    Returns:
      Values by column, NaN where undefined or if logits are not finite.
    """
    measured = {}
    is_finite = np.isfinite(logits).all()
    for name, metric in self._metrics.items():
      columns = metric.columns(self._class_names)
      values = np.full(len(columns), np.nan)
      if is_finite:
        try:
          values = np.reshape(metric.compute(self._labels, logits), -1)
        except Exception as error:
          raise MetricError(
            name, f'failed ({type(error).__name__}: {error})'
          ) from error
      measured.update(zip(columns, map(float, values), strict=True))
    return measured
