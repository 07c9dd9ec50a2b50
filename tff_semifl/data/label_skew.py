# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures how much clients differ in their classes.

References:
  Zhang, Yao, Yang, Yan, Gonzalez, Mahoney. Benchmarking semi-supervised
  federated learning. 2020. Equation 1.
"""

from collections.abc import Sequence

import numpy as np


def count_classes(
  labels: np.ndarray, shares: Sequence[np.ndarray], num_classes: int
) -> np.ndarray:
  """Counts the images of each class that each client has.

  Args:
    labels: int [num_images], in 0..num_classes-1.
    shares: For each client the indices of its images in `labels`.
    num_classes: Number of classes.

  Returns:
    int64 [num_clients, num_classes].
  """
  return np.stack(
    [np.bincount(labels[indices], minlength=num_classes) for indices in shares]
  )


def measure_label_skew(counts: np.ndarray) -> float:
  """Returns R, the non-iid level: the mean distance of two clients (E.5).

  The distance of two clients is half the sum, over the classes, of the
  differences of their fractions: 0 for the same mix of classes and 1 for no
  class in common.

  Args:
    counts: int [num_clients, num_classes], as `count_classes` has them.

  Returns:
    A number in 0..1; 0 for a single client.

  Raises:
    ValueError: If a client has no image, and so no mix of classes.
  """
  sizes = counts.sum(axis=1, keepdims=True)
  if not sizes.all():
    raise ValueError(f'client {np.argmin(sizes)} has no image')
  num_clients = len(counts)
  if num_clients == 1:
    return 0.0
  # Of sorted numbers, the i-th of n is subtracted from n - 1 - i larger ones
  # and has i smaller ones subtracted from it. No pair needs to be looked at.
  fractions = np.sort(counts / sizes, axis=0)
  times = 2 * np.arange(num_clients) - (num_clients - 1)
  distances = times @ fractions
  return float(distances.sum() / (num_clients * (num_clients - 1)))
