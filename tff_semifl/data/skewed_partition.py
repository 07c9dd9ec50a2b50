# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Clients that have different classes: the two non-IID partitions (C.5).

Both follow SemiFL's code, which says more than the paper (D26, D27). NumPy
only; everything is a function of the seed and returns indices.
"""

from collections.abc import Sequence
import math

import numpy as np

from tff_semifl.randomness import random_seeds

# Beyond these all shares are 0 or 1, or all are the same, and draws of NumPy
# take for ever, or add up to nothing.
LEAST_CONCENTRATION = 0.001
MOST_CONCENTRATION = 1e6

# Images that each client of a Dirichlet partition has at least (D27).
_LEAST_IMAGES = 10
# Draws after which it gives up, within seconds. The paper's partitions take 15
# draws at most.
_MAX_DRAWS = 10_000


def partition_classes(
  labels: np.ndarray,
  num_classes: int,
  classes_per_client: int,
  num_clients: int,
  seed: int,
) -> list[np.ndarray]:
  """Gives each client images of a few classes (C.5, "K classes", by the code).

  Each class is cut into as many shards, runs of neighbors in the data's
  order that differ by one image at most. A client is dealt
  `classes_per_client` shards. It may be dealt two of the same class, and sizes
  follow those of the classes (D26). Every image has a client.

  Args:
    labels: int [num_images], in 0..num_classes-1.
    num_classes: Number of classes.
    classes_per_client: Shards of a client, from 1 to `num_classes`; 2 in the
      paper.
    num_clients: Number of clients.
    seed: The run's seed.

  Returns:
    For each client its int64 indices into `labels`.

  Raises:
    ValueError: If shards and classes do not match, a class has fewer images
      than shards, or the class of an image is not known.
  """
  check_classes_are_known(labels, num_classes)
  if not 1 <= classes_per_client <= num_classes:
    raise ValueError(
      f'a client cannot have {classes_per_client} of {num_classes} classes; 1'
      f' to {num_classes} can be'
    )
  # The smallest number of clients whose shards the classes share equally.
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
    raise ValueError(
      f'{num_clients} clients with {classes_per_client} classes each take'
      f' {shards_per_class} images of each class, but class'
      f' {counts.argmin()} has {counts.min()} unlabeled ones'
    )
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.CLIENT_PARTITION
  )
  shards = [
    _cut_into_shards(np.flatnonzero(labels == class_index), shards_per_class)
    for class_index in range(num_classes)
  ]
  dealt = generator.permutation(
    np.repeat(np.arange(num_classes), shards_per_class)
  )
  return [
    np.concatenate(
      [
        shards[class_index].pop(generator.integers(len(shards[class_index])))
        for class_index in hand
      ]
    )
    for hand in dealt.reshape(num_clients, classes_per_client)
  ]


def partition_dirichlet(
  labels: np.ndarray, concentration: float, num_clients: int, seed: int
) -> list[np.ndarray]:
  """Gives each client a random mix of classes (C.5, "Dirichlet", by the code).

  Class by class, shares are drawn from a Dirichlet distribution; a client that
  has as many images as the average already gets nothing of the class. If a
  client then has fewer than 10 images, everything is drawn anew. Neighbors in
  the data's order stay together (D27). Every image has a client.

  Args:
    labels: int [num_images].
    concentration: Parameter of the symmetric Dirichlet distribution, from
      `LEAST_CONCENTRATION` to `MOST_CONCENTRATION`; 0.1 and 0.3 in the paper.
      The larger, the more alike clients are.
    num_clients: Number of clients.
    seed: The run's seed.

  Returns:
    For each client its int64 indices into `labels`.

  Raises:
    ValueError: If there are too few images, no draw gave each client 10, the
      class of an image is not known, or the concentration is out of range.
  """
  check_classes_are_known(labels)
  if not LEAST_CONCENTRATION <= concentration <= MOST_CONCENTRATION:
    raise ValueError(
      f'a concentration is from {LEAST_CONCENTRATION} to'
      f' {MOST_CONCENTRATION:g}, not {concentration}'
    )
  most_clients = len(labels) // _LEAST_IMAGES
  if not 1 <= num_clients <= most_clients:
    raise ValueError(
      f'{len(labels)} unlabeled images cannot be shared among {num_clients}'
      f' clients with {_LEAST_IMAGES} each; at most {most_clients} clients can'
      ' have them'
    )
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.CLIENT_PARTITION
  )
  classes = [np.flatnonzero(labels == each) for each in np.unique(labels)]
  for _ in range(_MAX_DRAWS):
    cuts = _draw_dirichlet_cuts(
      [len(indices) for indices in classes],
      concentration,
      num_clients,
      generator,
    )
    if cuts is None:
      continue
    pieces = [
      np.split(indices, class_cuts)
      for indices, class_cuts in zip(classes, cuts, strict=True)
    ]
    return [np.concatenate(each) for each in zip(*pieces, strict=True)]
  raise ValueError(
    f'each of {_MAX_DRAWS} draws left a client with fewer than {_LEAST_IMAGES}'
    f' of {len(labels)} unlabeled images; fewer clients than {num_clients}, or'
    f' a concentration above {concentration}, would leave it more'
  )


def check_classes_are_known(
  labels: np.ndarray, num_classes: int | None = None
) -> None:
  """Raises a ValueError if images are to be shared out by unknown classes.

  Args:
    labels: int [num_images], or `sources.UNKNOWN_LABEL`.
    num_classes: Number of classes, if that is known.
  """
  is_unknown = labels < 0
  if num_classes is not None:
    if num_classes < 1:
      raise ValueError(f'{num_classes} classes are none')
    is_unknown |= labels >= num_classes
  num_unknown = np.count_nonzero(is_unknown)
  if num_unknown:
    raise ValueError(
      f'{num_unknown} of {len(labels)} unlabeled images have no known class'
      ' to share them out by; choose iid, or give their classes, client_labels'
      ' in a file of features'
    )


def _cut_into_shards(indices: np.ndarray, num_shards: int) -> list[np.ndarray]:
  """Cuts into equal runs; what is left at the end goes to the first, one each.

  `np.array_split` would make those runs longer instead.
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
  """Draws where to cut each class, client by client.

  Returns:
    For each class the `num_clients - 1` places, or None if some client got
    too little.
  """
  average = sum(class_sizes) / num_clients
  client_sizes = np.zeros(num_clients, np.int64)
  cuts = []
  for class_size in class_sizes:
    shares = generator.dirichlet(np.full(num_clients, concentration))
    shares = shares * (client_sizes < average)
    if not shares.sum() > 0:
      return None  # All of it went to clients that have enough already.
    shares = shares / shares.sum()
    cuts.append((np.cumsum(shares) * class_size).astype(np.int64)[:-1])
    client_sizes += np.diff(cuts[-1], prepend=0, append=class_size)
  return cuts if client_sizes.min() >= _LEAST_IMAGES else None
