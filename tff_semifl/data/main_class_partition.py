# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The main-class partition of a non-IID level R of Zhang et al.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  8 and 9 (appendix A.2).
"""

import math

import numpy as np

from tff_semifl.data import names
from tff_semifl.data import skewed_partition
from tff_semifl.randomness import random_seeds

# Rounds away floating-point differences of equal quotas and remainders.
_DECIMALS = 9


def partition_main_classes(
  labels: np.ndarray,
  num_classes: int,
  skew: float,
  num_clients: int,
  seed: int,
) -> list[np.ndarray]:
  """Gives each client a fraction R of its main classes, and of all classes.

  Of d classes, each of K clients gets ceil(d / K) main classes, dealt in turn:
  client u gets those after the ones of client u - 1, and class 0 follows the
  last class. With at least as many clients as classes, the main class of client
  u is u modulo d. With fewer, each class has a client, and some have two.

  Let class j have n_j images, a fraction q_j of all, and be a main class of m_j
  clients. Client u, with the main classes M_u, gets

      N_ui = [i in M_u] R n_i / m_i + (1 - R) n_i sum_{j in M_u} q_j / m_j

  images of class i: equation 8 of Zhang et al., summed over the main classes of
  the client. It has N_u = sum_{j in M_u} n_j / m_j images in all, of which a
  fraction [i in M_u] R n_i / (m_i N_u) + (1 - R) q_i is of class i. The N_ui of
  all clients sum to n_i, so that every image has one client.

  The distance of two clients is R without a common main class, 0 with the same
  main classes. `label_skew.measure_label_skew` therefore returns R for as many
  clients as classes, and less where clients share main classes.

  Numbers are rounded class by class, by the largest remainder, with ties for
  the client that has fewest images. Images are drawn at random.

  Args:
    labels: int [num_images], in 0..num_classes-1.
    skew: R, in [0, 1]. 0 makes clients alike, 1 gives each its main classes
      only.
    seed: The run's seed.

  Returns:
    For each client its int64 indices into `labels`, in random order.
  """
  skewed_partition.check_classes_are_known(labels, num_classes)
  if not 0 <= skew <= 1:
    raise ValueError(f'{skew} is not in 0..1')
  if num_clients < 1:
    raise ValueError(f'{num_clients} clients are too few')
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
    raise names.ClassError(
      f'{len(labels)} unlabeled images leave client {client} of {num_clients}'
      ' without any; its main classes are {}',
      *main_classes,
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
  """Each client's main classes, bool [clients, classes]."""
  num_each = math.ceil(num_classes / num_clients)
  dealt = np.arange(num_clients * num_each).reshape(num_clients, num_each)
  is_main = np.zeros([num_clients, num_classes], bool)
  np.put_along_axis(is_main, dealt % num_classes, True, axis=1)
  return is_main


def _count_images(
  class_sizes: np.ndarray, skew: float, num_clients: int
) -> np.ndarray:
  """The images of each client and class, int64 [clients, classes].

  Each column adds up to the class's size.
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
