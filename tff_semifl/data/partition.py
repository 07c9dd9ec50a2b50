# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Splits images into labeled and unlabeled images, and partitions them IID."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.randomness import random_seeds


class LabelSplit(NamedTuple):
  """int64 indices; labeled images are shuffled, unlabeled images sorted."""

  labeled: np.ndarray
  unlabeled: np.ndarray


def split_labels(
  labels: np.ndarray, num_labeled: int, num_classes: int, seed: int
) -> LabelSplit:
  """Draws the same number of labeled images of each class.

  If all images are to be labeled, classes may differ in size.

  `labels` are int [num_images]; images with a label outside 0..num_classes-1
  stay unlabeled. Raises a `ValueError` if `num_labeled` is not a positive
  multiple of `num_classes`, or a class has too few images.
  """
  is_known = (labels >= 0) & (labels < num_classes)
  sizes = np.bincount(labels[is_known], minlength=num_classes)
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
  purpose = random_seeds.Purpose.LABEL_SPLIT
  generator = random_seeds.numpy_generator(seed, purpose)
  chosen = []
  for class_index in range(num_classes):
    candidates = np.flatnonzero(labels == class_index)
    if len(candidates) < per_class:
      raise data_errors.ClassError(
        f'{num_labeled} labeled images take {per_class} of each class, but'
        f' class {{}} has {len(candidates)}; at most'
        f' {sizes.min() * num_classes} are possible',
        class_index,
      )
    chosen.append(generator.choice(candidates, per_class, replace=False))
  labeled = generator.permutation(np.concatenate(chosen))
  return LabelSplit(
    labeled=labeled,
    unlabeled=np.setdiff1d(np.arange(len(labels)), labeled),
  )


def shuffle(num_labeled: int, seed: int) -> np.ndarray:
  """A random order of labeled images, so that batches mix classes."""
  purpose = random_seeds.Purpose.LABEL_SPLIT
  return random_seeds.numpy_generator(seed, purpose).permutation(num_labeled)


def partition_iid(num_images: int, num_clients: int, seed: int) -> np.ndarray:
  """Partitions images at random, with the same number for each client.

  Returns indices, int64 [num_clients, images of a client]. The remainder, fewer
  images than clients, is not used, as in SemiFL's code. Raises a `ValueError`
  for too few images.
  """
  if not num_images:
    raise ValueError('no unlabeled image is left for the clients')
  if not 1 <= num_clients <= num_images:
    raise ValueError(
      f'{num_images} unlabeled images cannot be shared among'
      f' {num_clients} clients; 1 to {num_images} clients can have some'
    )
  purpose = random_seeds.Purpose.CLIENT_PARTITION
  order = random_seeds.numpy_generator(seed, purpose).permutation(num_images)
  size = num_images // num_clients
  return order[: size * num_clients].reshape(num_clients, size)


def check_shares(shares: Sequence[np.ndarray], num_images: int) -> None:
  """Raises `ValueError` if an index is out of range or of several clients."""
  given = np.concatenate([np.empty(0, np.int64), *shares])
  if len(given) and not 0 <= given.min() <= given.max() < num_images:
    raise ValueError(
      f'clients have indices from {given.min()} to {given.max()} of'
      f' {num_images} images'
    )
  num_shared = np.count_nonzero(np.bincount(given) > 1)
  if num_shared:
    raise ValueError(
      f'{num_shared} of {num_images} unlabeled images have more than one client'
    )
