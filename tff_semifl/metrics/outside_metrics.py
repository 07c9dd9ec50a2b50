# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics from outside this package: Keras metrics, and functions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special
import tensorflow as tf

from tff_semifl.settings import references

_OF_LABELS = (
  tf.keras.metrics.SparseCategoricalAccuracy,
  tf.keras.metrics.SparseCategoricalCrossentropy,
  tf.keras.metrics.SparseTopKCategoricalAccuracy,
)


class OutsideMetric(NamedTuple):
  """A metric of a user or of Keras.

  Attributes:
    name: The NAME of 'package.module:NAME'.
    compute: (labels, logits) -> a number.
    higher_is_better: The object's attribute of this name; by default True.
  """

  name: str
  compute: Callable[[np.ndarray, np.ndarray], float]
  higher_is_better: bool


def load(reference: str) -> OutsideMetric:
  """Loads a metric."""
  found = references.load(reference)
  _, _, name = reference.partition(':')
  if isinstance(found, type):
    try:
      found = found()
    except Exception as error:
      raise ValueError(
        f'cannot be created without arguments: {error}'
      ) from error
  higher_is_better = getattr(found, 'higher_is_better', True)
  if isinstance(found, tf.keras.metrics.Metric):
    return OutsideMetric(name, _of_keras(found), higher_is_better)
  if not callable(found):
    raise ValueError(
      f'is a {type(found).__name__}; must be a tf.keras.metrics.Metric or a'
      ' function of labels and logits'
    )
  return OutsideMetric(name, _of_function(found), higher_is_better)


def _of_keras(
  metric: tf.keras.metrics.Metric,
) -> Callable[[np.ndarray, np.ndarray], float]:
  """A function that gives a Keras metric probabilities, its usual input."""

  def compute(labels: np.ndarray, logits: np.ndarray) -> float:
    metric.reset_state()
    truth = labels
    if not isinstance(metric, _OF_LABELS):
      truth = np.eye(logits.shape[1], dtype=np.float32)[labels]
    metric.update_state(truth, special.softmax(logits, axis=1))
    return _to_number(metric.result())

  return compute


def _of_function(
  function: Callable[..., object],
) -> Callable[[np.ndarray, np.ndarray], float]:
  return lambda labels, logits: _to_number(function(labels, logits))


def _to_number(value: object) -> float:
  array = np.asarray(value)
  if array.size != 1 or array.dtype.kind not in 'buif':
    raise ValueError(f'returned {value!r}, not a number')
  return float(array.reshape(()))
