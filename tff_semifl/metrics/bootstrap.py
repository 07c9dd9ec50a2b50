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

  `labels` are int [images] and `logits` float [images, classes]; `seed` is that
  of resampling images. Resamples where the metric is NaN, such as the AUC of
  one class, are left out; the ends are NaN if it is NaN in all.
  """
  generator = np.random.default_rng(seed)
  samples = generator.integers(len(labels), size=[NUM_SAMPLES, len(labels)])
  values = np.array([compute(labels[i], logits[i]) for i in samples])
  known = values[~np.isnan(values)]
  if not len(known):
    return float('nan'), float('nan')
  low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
  return float(low), float(high)
