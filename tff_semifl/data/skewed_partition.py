# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Non-IID partitions, by shards, a Dirichlet distribution or main classes.

Shards and Dirichlet partitions follow SemiFL's code, which is more precise than
SemiFL's paper (docs/algorithms/data.md).
"""

from collections.abc import Sequence
import math

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.randomness import random_seeds

# Outside of these bounds, NumPy may draw endlessly, or draw fractions with sum
# 0.
LEAST_CONCENTRATION = 0.001
MOST_CONCENTRATION = 1_000_000

_PURPOSE = random_seeds.Purpose.CLIENT_PARTITION
_MIN_IMAGES = 10
# The draws until an error; SemiFL's own partitions need at most 15.
_MAX_DRAWS = 10_000
# Quotas and remainders are rounded to this many decimals, so that equal values
# tie.
_DECIMALS = 9


def partition_main_classes(
  labels: np.ndarray, num_classes: int, skew: float, num_clients: int, seed: int
) -> list[np.ndarray]:
  """Partitions images so that a client has more images of its main classes.

  Each of K clients gets c = ceil(d / K) of the d classes as main classes. They
  are assigned cyclically: client u gets the classes u*c to u*c + c - 1, modulo
  d. If K >= d, each client has one main class. If K < d, each class is a main
  class of one or two clients.

  Let class j have n_j images, a fraction q_j of all, and be a main class of m_j
  clients. Client u, with the main classes M_u, gets

      N_ui = [i in M_u] R n_i / m_i + (1 - R) n_i sum_{j in M_u} q_j / m_j

  images of class i: equation 8 of Zhang et al., summed over the main classes of
  the client. The N_ui of all clients sum to n_i: every image has one client.

  The N_ui are rounded class by class, by the largest-remainder method. Ties go
  to the client with the fewest images. Images are drawn at random.

  `labels` are int [num_images]; the result is each client's int64 indices, in
  random order. `skew` is R: 0 gives all clients the same class fractions, 1
  gives each client its main classes only.
  """
  check_classes_are_known(labels, num_classes)
  class_sizes = np.bincount(labels, minlength=num_classes)
  counts = _count_images(class_sizes, skew, num_clients)
  if not counts.sum(axis=1).all():
    client = int(counts.sum(axis=1).argmin())
    is_main = _deal_main_classes(num_classes, num_clients)[client]
    raise data_errors.ClassError(
      f'{len(labels)} unlabeled images leave client {client} of {num_clients}'
      ' without any; its main classes are {}',
      *np.flatnonzero(is_main),
    )
  generator = random_seeds.numpy_generator(seed, _PURPOSE)
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
  num_each = math.ceil(num_classes / num_clients)
  dealt = np.arange(num_clients * num_each).reshape(num_clients, num_each)
  is_main = np.zeros([num_clients, num_classes], bool)
  np.put_along_axis(is_main, dealt % num_classes, True, axis=1)
  return is_main


def _count_images(
  class_sizes: np.ndarray, skew: float, num_clients: int
) -> np.ndarray:
  """The number of images of each client and class, int64 [clients, classes].

  Each column sums to the size of the class.
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


def partition_classes(
  labels: np.ndarray,
  num_classes: int,
  classes_per_client: int,
  num_clients: int,
  seed: int,
) -> list[np.ndarray]:
  """Partitions by shards, so that each client has images of a few classes.

  Each class is cut, in the data's order, into the same number of shards, whose
  sizes differ by at most one image. Each client gets `classes_per_client`
  shards; several of them may be of the same class. Every image has a client.

  `labels` are int [num_images]; the result is each client's int64 indices.
  Raises a `ValueError` if classes cannot have equally many shards.
  """
  check_classes_are_known(labels, num_classes)
  if not 1 <= classes_per_client <= num_classes:
    raise ValueError(
      f'a client cannot have {classes_per_client} of {num_classes} classes; 1'
      f' to {num_classes} can be'
    )
  # The least number of clients for which classes have equally many shards.
  step = num_classes // math.gcd(num_classes, classes_per_client)
  if num_clients < 1 or num_clients % step:
    lower = max(num_clients // step, 1) * step
    raise ValueError(
      f'{num_clients} clients with {classes_per_client} classes each cannot'
      f' have each of {num_classes} classes equally often; {lower} or'
      f' {lower + step} clients can'
    )
  shards_per_class = num_clients * classes_per_client // num_classes
  counts = np.bincount(labels, minlength=num_classes)
  if counts.min() < shards_per_class:
    raise data_errors.ClassError(
      f'{num_clients} clients with {classes_per_client} classes each take'
      f' {shards_per_class} images of each class, but class {{}} has'
      f' {counts.min()} unlabeled ones',
      int(counts.argmin()),
    )
  generator = random_seeds.numpy_generator(seed, _PURPOSE)
  shards = [
    _cut_into_shards(np.flatnonzero(labels == class_index), shards_per_class)
    for class_index in range(num_classes)
  ]
  dealt = generator.permutation(
    np.repeat(np.arange(num_classes), shards_per_class)
  )

  def draw(class_index: int) -> np.ndarray:
    remaining = shards[class_index]
    return remaining.pop(generator.integers(len(remaining)))

  return [
    np.concatenate([*map(draw, hand)])
    for hand in dealt.reshape(num_clients, classes_per_client)
  ]


def partition_dirichlet(
  labels: np.ndarray, concentration: float, num_clients: int, seed: int
) -> list[np.ndarray]:
  """Partitions each class by fractions from a Dirichlet distribution.

  Classes are partitioned in turn. Once a client has the average number of
  images, it gets none of later classes. If a client ends with fewer than 10
  images, all classes are drawn anew. A client's images of a class are
  consecutive in the data's order. Every image has a client.

  `labels` are int [num_images]; the result is each client's int64 indices.
  Raises a `ValueError` if no draw gives each client 10 images.
  """
  check_classes_are_known(labels)
  most_clients = len(labels) // _MIN_IMAGES
  if not 1 <= num_clients <= most_clients:
    raise ValueError(
      f'{len(labels)} unlabeled images cannot be shared among {num_clients}'
      f' clients with {_MIN_IMAGES} each; at most {most_clients} clients can'
      ' have them'
    )
  generator = random_seeds.numpy_generator(seed, _PURPOSE)
  classes = [np.flatnonzero(labels == each) for each in np.unique(labels)]
  for _ in range(_MAX_DRAWS):
    sizes = [*map(len, classes)]
    cuts = _draw_dirichlet_cuts(sizes, concentration, num_clients, generator)
    if cuts is None:
      continue
    pieces = [
      np.split(indices, class_cuts)
      for indices, class_cuts in zip(classes, cuts, strict=True)
    ]
    return [np.concatenate(each) for each in zip(*pieces, strict=True)]
  raise ValueError(
    f'each of {_MAX_DRAWS} draws left a client with fewer than {_MIN_IMAGES}'
    f' of {len(labels)} unlabeled images; fewer clients than {num_clients}, or'
    f' a concentration above {concentration}, would leave it more'
  )


def check_classes_are_known(
  labels: np.ndarray, num_classes: int | None = None
) -> None:
  """Raises `ValueError` if the class of an image is unknown."""
  most = np.inf if num_classes is None else num_classes - 1
  num_unknown = np.count_nonzero((labels < 0) | (labels > most))
  if num_unknown:
    raise ValueError(
      f'{num_unknown} of {len(labels)} unlabeled images have no known class'
      ' to partition them by; choose iid, or give client_labels'
    )


def _cut_into_shards(indices: np.ndarray, num_shards: int) -> list[np.ndarray]:
  """Cuts indices into equal shards; the remainder goes to the first shards.

  `np.array_split` would shift the later shards instead.
  """
  size, num_left = divmod(len(indices), num_shards)
  shards = list(indices[: size * num_shards].reshape(num_shards, size))
  for shard, index in enumerate(indices[len(indices) - num_left :]):
    shards[shard] = np.append(shards[shard], index)
  return shards


def _draw_dirichlet_cuts(
  class_sizes: Sequence[int],
  concentration: float,
  num_clients: int,
  generator: np.random.Generator,
) -> list[np.ndarray] | None:
  """Draws where to cut each class, `num_clients - 1` indices for each class.

  Returns None if a client would get too few images, or if all fractions are 0.
  """
  average = sum(class_sizes) / num_clients
  client_sizes = np.zeros(num_clients, np.int64)
  cuts = []
  for class_size in class_sizes:
    shares = generator.dirichlet(np.full(num_clients, concentration))
    shares = shares * (client_sizes < average)
    if not shares.sum() > 0:
      return None  # All clients with positive fractions have enough images.
    shares = shares / shares.sum()
    cuts.append((np.cumsum(shares) * class_size).astype(np.int64)[:-1])
    client_sizes += np.diff(cuts[-1], prepend=0, append=class_size)
  return cuts if client_sizes.min() >= _MIN_IMAGES else None


def count_classes(
  labels: np.ndarray, shares: Sequence[np.ndarray], num_classes: int
) -> np.ndarray:
  """Counts each client's images of each class: int64 [clients, classes]."""
  return np.stack(
    [np.bincount(labels[indices], minlength=num_classes) for indices in shares]
  )


def measure_label_skew(counts: np.ndarray) -> float:
  """The non-IID level R in 0..1: the mean distance between two clients.

  The distance is the total variation: half the sum of absolute differences of
  class fractions. A single client has level 0. `counts` come from
  `count_classes`; each client needs an image.
  """
  n = len(counts)
  # In the sum over all pairs, the i-th of n sorted numbers counts i times
  # positively and n - 1 - i times negatively.
  fractions = np.sort(counts / counts.sum(axis=1, keepdims=True), axis=0)
  times = 2 * np.arange(n) - (n - 1)
  return float((times @ fractions).sum() / max(n * (n - 1), 1))
