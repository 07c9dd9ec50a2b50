# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Bootstrap intervals of metrics that are not proportions.

References:
  Efron, Tibshirani. An Introduction to the Bootstrap. 1993, chapter 13.
"""

from collections.abc import Callable

import numpy as np

NUM_SAMPLES = 500
_LEVEL = 0.95

Compute = Callable[[np.ndarray, np.ndarray], float]


def interval(
  compute: Compute, labels: np.ndarray, logits: np.ndarray, *, seed: int = 0
) -> tuple[float, float]:
  """The 95% percentile interval of a metric, over images.

  Resamples where the metric is NaN, such as the AUC of one class, are left out.

  Args:
    labels: int [images].
    logits: float [images, classes].
    seed: The seed of resampling images with replacement.

  Returns:
    The lower and upper end; NaN if the metric is NaN in all resamples.
  """
  return _percentiles(
    [compute(labels[i], logits[i]) for i in _draw(len(labels), seed)]
  )


def interval_of_difference(
  compute: Compute,
  labels: np.ndarray,
  before: np.ndarray,
  after: np.ndarray,
  *,
  seed: int = 0,
) -> tuple[float, float]:
  """The 95% percentile interval of a paired difference.

  Args:
    labels: int [images].
    before: float [images, classes], the logits of one model.
    seed: The seed of resampling images with replacement.
  """
  return _percentiles(
    [
      compute(labels[i], after[i]) - compute(labels[i], before[i])
      for i in _draw(len(labels), seed)
    ]
  )


def _draw(num_images: int, seed: int) -> np.ndarray:
  generator = np.random.default_rng(seed)
  return generator.integers(num_images, size=[NUM_SAMPLES, num_images])


def _percentiles(values: list[float]) -> tuple[float, float]:
  known = np.array([value for value in values if not np.isnan(value)])
  if not len(known):
    return float('nan'), float('nan')
  low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
  return float(low), float(high)
