# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Partition of images: those with labels, and the clients' shares.

NumPy only. Everything is a function of the seed and returns indices.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tff_semifl.randomness import random_seeds


class LabelSplit(NamedTuple):
  """The split of training images into labeled and unlabeled ones.

  Attributes:
    labeled: int64 indices, in random order: class by class, a batch of them
      would hold few classes.
    unlabeled: int64 indices of all others, in the data's order (D25).
  """

  labeled: np.ndarray
  unlabeled: np.ndarray


def split_labels(
  labels: np.ndarray, num_labeled: int, num_classes: int, seed: int
) -> LabelSplit:
  """Draws the same number of labeled images of each class (C.4).

  If all images are to be labeled, they are, however many each class has.

  Args:
    labels: int [num_images]; images of no class in 0..num_classes-1 get none.
    num_labeled: Labeled images in all, a multiple of `num_classes`, or all of
      images that are not the same number of each class.
    num_classes: Number of classes.
    seed: The run's seed.

  Returns:
    The indices of both parts.

  Raises:
    ValueError: If `num_labeled` is not a positive multiple of `num_classes`,
      or a class has too few images. The message begins with what is wrong.
  """
  if num_classes < 1:
    raise ValueError(f'{num_classes} classes are none')
  sizes = _class_sizes(labels, num_classes)
  if (
    num_labeled == sizes.sum() == len(labels) and 0 < sizes.min() < sizes.max()
  ):
    return LabelSplit(shuffle(num_labeled, seed), np.empty(0, np.int64))
  per_class, rest = divmod(num_labeled, num_classes)
  if rest or per_class < 1:
    lower = max(num_labeled - rest, num_classes)
    raise ValueError(
      f'{num_labeled} labeled images cannot be the same number for each of'
      f' {num_classes} classes; {lower} or {lower + num_classes} can'
    )
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.LABEL_SPLIT
  )
  chosen = []
  for class_index in range(num_classes):
    candidates = np.flatnonzero(labels == class_index)
    if len(candidates) < per_class:
      raise ValueError(
        f'{num_labeled} labeled images take {per_class} of each class, but'
        f' class {class_index} has {len(candidates)}; at most'
        f' {sizes.min() * num_classes} are possible'
      )
    chosen.append(generator.choice(candidates, per_class, replace=False))
  labeled = generator.permutation(np.concatenate(chosen))
  return LabelSplit(
    labeled=labeled,
    unlabeled=np.setdiff1d(np.arange(len(labels)), labeled),
  )


def _class_sizes(labels: np.ndarray, num_classes: int) -> np.ndarray:
  is_known = (labels >= 0) & (labels < num_classes)
  return np.bincount(labels[is_known], minlength=num_classes)


def shuffle(num_labeled: int, seed: int) -> np.ndarray:
  """Shuffles labeled images that come sorted by class.

  A batch of them then holds all classes, as with those of `split_labels`.

  Args:
    num_labeled: Number of images.
    seed: The run's seed.

  Returns:
    int64 [num_labeled], the images' indices in random order.
  """
  return random_seeds.numpy_generator(
    seed, random_seeds.Purpose.LABEL_SPLIT
  ).permutation(num_labeled)


def partition_iid(num_images: int, num_clients: int, seed: int) -> np.ndarray:
  """Gives each client the same number of images, at random (C.5).

  Each client has the number of images divided by that of clients, rounded down,
  as in SemiFL's code. The remaining images, fewer than clients, have no client.

  Args:
    num_images: Number of images to share out.
    num_clients: Number of clients.
    seed: The run's seed.

  Returns:
    int64 [num_clients, images of a client], indices in 0..num_images-1. An
    array of a million rows takes far less memory than as many arrays.

  Raises:
    ValueError: If there are no images, or fewer than clients.
  """
  if not num_images:
    raise ValueError('no unlabeled image is left for the clients')
  if not 1 <= num_clients <= num_images:
    raise ValueError(
      f'{num_images} unlabeled images cannot be shared among'
      f' {num_clients} clients; 1 to {num_images} clients can have some'
    )
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.CLIENT_PARTITION
  )
  size = num_images // num_clients
  order = generator.permutation(num_images)[: size * num_clients]
  return order.reshape(num_clients, size)


def check_all_are_shared(
  shares: Sequence[np.ndarray], num_images: int, *, num_left: int = 0
) -> None:
  """Checks that each image has one client, but for as many as may have none.

  Args:
    shares: For each client int64 indices in 0..num_images-1.
    num_images: Number of images to share out.
    num_left: How many the definition of the partition leaves without a client.

  Raises:
    ValueError: If an image has two clients, or more or fewer than `num_left`
      have none.
  """
  given = np.concatenate([np.empty(0, np.int64), *shares])
  num_clients = np.bincount(given, minlength=num_images)
  if num_clients.max(initial=0) > 1:
    raise ValueError(
      f'{np.count_nonzero(num_clients > 1)} of {num_images} unlabeled images'
      ' have more than one client'
    )
  num_without = np.count_nonzero(num_clients == 0)
  if num_without != num_left:
    raise ValueError(
      f'{num_without} of {num_images} unlabeled images have no client; by the'
      f' definition of the partition {num_left} have none'
    )
