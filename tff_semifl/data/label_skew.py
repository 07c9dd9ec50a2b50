# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures how much the class distributions of clients differ.

References:
  Zhang, Yao, Yang, Yan, Gonzalez, Mahoney. Benchmarking semi-supervised
  federated learning. 2020. Equation 1.
"""

from collections.abc import Sequence

import numpy as np


def count_classes(
  labels: np.ndarray, shares: Sequence[np.ndarray], num_classes: int
) -> np.ndarray:
  """Counts each client's images of each class: int64 [clients, classes].

  Args:
    labels: int [num_images], in 0..num_classes-1.
  """
  return np.stack(
    [np.bincount(labels[indices], minlength=num_classes) for indices in shares]
  )


def measure_label_skew(counts: np.ndarray) -> float:
  """The non-IID level R in 0..1: the mean distance of two clients' classes.

  The distance is half the sum of absolute differences of class fractions (total
  variation): 0 for equal fractions, 1 for no class in common. A single client
  has the level 0.

  Args:
    counts: int [num_clients, num_classes], see `count_classes`.
  """
  sizes = counts.sum(axis=1, keepdims=True)
  if not sizes.all():
    raise ValueError(f'client {np.argmin(sizes)} has no image')
  num_clients = len(counts)
  if num_clients == 1:
    return 0.0
  # Summed over all pairs, the i-th of n sorted numbers counts i times positive
  # and n - 1 - i times negative.
  fractions = np.sort(counts / sizes, axis=0)
  times = 2 * np.arange(num_clients) - (num_clients - 1)
  distances = times @ fractions
  return float(distances.sum() / (num_clients * (num_clients - 1)))
