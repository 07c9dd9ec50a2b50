# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Clients with main classes: the partition of a level R of Zhang et al.

NumPy only; everything is a function of the seed and returns indices.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  8 and 9 (appendix A.2); D30 to D32.
"""

import math

import numpy as np

from tff_semifl.data import skewed_partition
from tff_semifl.randomness import random_seeds

# Remainders of products of shares, which differ by less, are the same number.
_DECIMALS = 9


def partition_main_classes(
  labels: np.ndarray,
  num_classes: int,
  skew: float,
  num_clients: int,
  seed: int,
) -> list[np.ndarray]:
  """Gives each client a share R of its main classes, the rest like all images.

  Of d classes each of K clients has ceil(d / K) as main classes, dealt in turn:
  client u has the next ones after those of client u - 1, and class 0 comes
  after the last. With as many clients as classes or more, that is the class u
  modulo d. With fewer, no class is left without a client, and some have two.

  Let class j have n_j images, a fraction q_j of all, and be a main class of m_j
  clients. Client u, with the main classes M_u, gets of class i

      N_ui = [i in M_u] R n_i / m_i + (1 - R) n_i sum_{j in M_u} q_j / m_j

  images: equation 8, summed over the main classes of the client (D32). It has
  N_u = sum_{j in M_u} n_j / m_j images in all, of which a fraction
  [i in M_u] R n_i / (m_i N_u) + (1 - R) q_i is of class i. Every image has one
  client: summed over the clients, N_ui is n_i.

  Two clients without a main class in common are at the distance R, two with the
  same main classes at none, others between. What
  `label_skew.measure_label_skew` finds is therefore R for as many clients as
  classes, and where clients share main classes, less (D31).

  Numbers are rounded class by class, by the largest remainder, and among equal
  ones for the client that has fewest images; which images they are is random.

  Args:
    labels: int [num_images], in 0..num_classes-1.
    num_classes: Number of classes.
    skew: R, in [0, 1]. 0 makes clients alike, 1 gives each its main classes
      alone.
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
  if num_clients > len(labels):
    raise ValueError(
      f'{len(labels)} unlabeled images cannot be shared among {num_clients}'
      ' clients'
    )
  counts = _count_images(
    np.bincount(labels, minlength=num_classes), skew, num_clients
  )
  if not counts.sum(axis=1).all():
    client = int(counts.sum(axis=1).argmin())
    [main_classes] = np.nonzero(
      _deal_main_classes(num_classes, num_clients)[client]
    )
    raise ValueError(
      f'{len(labels)} unlabeled images leave client {client} of {num_clients}'
      f' without any; its main classes are {list(map(int, main_classes))}'
    )
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.CLIENT_PARTITION
  )
  pieces = [
    np.split(
      generator.permutation(np.flatnonzero(labels == class_index)),
      np.cumsum(counts[:-1, class_index]),
    )
    for class_index in range(num_classes)
  ]
  return [
    generator.permutation(np.concatenate(each))
    for each in zip(*pieces, strict=True)
  ]


def _deal_main_classes(num_classes: int, num_clients: int) -> np.ndarray:
  """Returns each client's main classes, bool [clients, classes]."""
  num_each = math.ceil(num_classes / num_clients)
  dealt = np.arange(num_clients * num_each).reshape(num_clients, num_each)
  is_main = np.zeros([num_clients, num_classes], bool)
  np.put_along_axis(is_main, dealt % num_classes, True, axis=1)
  return is_main


def _count_images(
  class_sizes: np.ndarray, skew: float, num_clients: int
) -> np.ndarray:
  """Returns the number of images of each client and class (equation 8).

  Args:
    class_sizes: int [num_classes].
    skew: R.
    num_clients: K.

  Returns:
    int64 [num_clients, num_classes]. Each column adds up to the class's size.
  """
  is_main = _deal_main_classes(len(class_sizes), num_clients)
  num_sharing = is_main.sum(axis=0)
  fractions = class_sizes / max(class_sizes.sum(), 1)
  quotas = np.outer(is_main @ (fractions / num_sharing), class_sizes)
  quotas *= 1 - skew
  quotas += is_main * (skew * class_sizes / num_sharing)
  quotas = np.round(quotas, _DECIMALS)
  counts = np.floor(quotas).astype(np.int64)
  remainders = np.round(quotas - counts, _DECIMALS)
  for class_index, class_size in enumerate(class_sizes):
    num_left = class_size - counts[:, class_index].sum()
    order = np.lexsort((counts.sum(axis=1), -remainders[:, class_index]))
    counts[order[:num_left], class_index] += 1
  return counts
