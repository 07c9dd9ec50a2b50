# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Clients with a main class each: the benchmark's partition of a level R.

NumPy only; everything is a function of the seed and returns indices.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  8 and 9 (appendix A.2); D30 to D32.
"""

import numpy as np

from tff_semifl import random_seeds
from tff_semifl.data import skewed_partition

# Remainders of products of shares, which differ by less, are the same number.
_DECIMALS = 9


def partition_main_classes(
  labels: np.ndarray,
  num_classes: int,
  skew: float,
  num_clients: int,
  seed: int,
) -> list[np.ndarray]:
  """Gives each client a share R of one class, and the rest like all images.

  Client u has the main class u modulo the number of classes. If a class j of
  n_j images, a fraction q_j of all, is the main class of m_j clients, each of
  them gets n_j / m_j images: a share R of them of class j, and of every class
  i, j too, n_i q_j (1 - R) / m_j (equation 8). So fractions of its images are
  R + (1 - R) q_j of class j and (1 - R) q_i of the others.

  Two clients with different main classes are at the distance R, two with the
  same at none. What `label_skew.measure_label_skew` finds is therefore R for as
  many clients as classes, or fewer, and less for more (D31).

  Numbers are rounded class by class, by the largest remainder, and among equal
  ones for the client that has fewest images; which images they are is random.
  No image has two clients (D32). None is left, unless there are fewer clients
  than classes: shares of the classes that are nobody's main class then stay.

  Args:
    labels: int [num_images], in 0..num_classes-1.
    num_classes: Number of classes.
    skew: R, in [0, 1]. 0 makes clients alike, 1 gives each one class.
    num_clients: Number of clients.
    seed: The run's seed.

  Returns:
    For each client its int64 indices into `labels`, in random order.

  Raises:
    ValueError: If `skew` is no such number, a client would have no image, or
      the class of an image is not known.
  """
  skewed_partition.check_classes_are_known(labels, num_classes)
  if not 0 <= skew <= 1:
    raise ValueError(f'{skew} is not in 0..1')
  if num_clients < 1:
    raise ValueError(f'{num_clients} clients are none')
  counts = _count_images(
    np.bincount(labels, minlength=num_classes), skew, num_clients
  )
  if not counts.sum(axis=1).all():
    client = int(counts.sum(axis=1).argmin())
    raise ValueError(
      f'{len(labels)} unlabelled images leave client {client} of {num_clients},'
      f' whose main class is {client % num_classes}, without any'
    )
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.CLIENT_PARTITION
  )
  pieces = [
    np.split(
      generator.permutation(np.flatnonzero(labels == class_index)),
      np.cumsum(counts[:, class_index]),
    )[:num_clients]
    for class_index in range(num_classes)
  ]
  return [
    generator.permutation(np.concatenate(each))
    for each in zip(*pieces, strict=True)
  ]


def _count_images(
  class_sizes: np.ndarray, skew: float, num_clients: int
) -> np.ndarray:
  """Returns how many images of each class each client has (equation 8).

  Args:
    class_sizes: int [num_classes].
    skew: R.
    num_clients: K.

  Returns:
    int64 [num_clients, num_classes].
  """
  num_classes = len(class_sizes)
  main_classes = np.arange(num_clients) % num_classes
  num_sharing = np.bincount(main_classes, minlength=num_classes)[main_classes]
  fractions = class_sizes / max(class_sizes.sum(), 1)
  quotas = np.outer(fractions[main_classes] / num_sharing, class_sizes)
  quotas *= 1 - skew
  quotas[np.arange(num_clients), main_classes] += (
    skew * class_sizes[main_classes] / num_sharing
  )
  quotas = np.round(quotas, _DECIMALS)
  counts = np.floor(quotas).astype(np.int64)
  remainders = np.round(quotas - counts, _DECIMALS)
  for class_index in range(num_classes):
    # Of a class with clients for all of it, exactly its size.
    total = int(np.rint(quotas[:, class_index].sum()))
    num_left = total - counts[:, class_index].sum()
    order = np.lexsort((counts.sum(axis=1), -remainders[:, class_index]))
    counts[order[:num_left], class_index] += 1
  return counts
