# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Validation splits of the labeled images, and folds of cross-validation."""

import numpy as np

from tff_semifl.data import names
from tff_semifl.randomness import random_seeds


def draw(
  labels: np.ndarray, labeled: np.ndarray, num_validation: int, seed: int
) -> np.ndarray:
  """Draws labeled images for validation, evenly from the classes if possible.

  Each class keeps at least one image for training.

  Args:
    labels: int [num_images], the classes.
    labeled: int64, indices of the labeled images; their order does not matter.
    seed: The run's seed.

  Returns:
    int64 [num_validation], sorted indices of the images.
  """
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.VALIDATION_SPLIT
  )
  shuffled = generator.permutation(np.sort(labeled))
  # Classes give one image each in turn, except their last.
  turns, drawn = [], []
  for class_index in np.unique(labels[shuffled]):
    of_class = shuffled[labels[shuffled] == class_index][:-1]
    drawn.append(of_class)
    turns.append(np.arange(len(of_class)))
  candidates = np.concatenate(drawn or [labeled])
  if num_validation > len(candidates):
    raise ValueError(
      f'the server has {len(labeled)} labeled images of {len(drawn)} classes,'
      f' and trains on at least one of each; {len(candidates)} at most are left'
      ' to validate on'
    )
  # Ties between classes are broken at random.
  order = np.lexsort(
    [generator.permutation(len(candidates)), np.concatenate(turns)]
  )
  return np.sort(candidates[order[:num_validation]])


def draw_fold(
  labels: np.ndarray,
  labeled: np.ndarray,
  fold: int,
  num_folds: int,
  seed: int,
) -> np.ndarray:
  """Draws one of several disjoint parts of the labeled images.

  Their numbers of images differ by one at most, and so do those of each class.

  Args:
    labels: int [num_images], the classes.
    labeled: int64, indices of the labeled images, in any order, which makes no
      difference.
    seed: The run's seed.

  Returns:
    int64, indices of the images, in the data's order.
  """
  if num_folds > len(labeled):
    raise ValueError(
      f'the server has {len(labeled)} labeled images, too few for {num_folds}'
      ' parts'
    )
  classes, sizes = np.unique(labels[labeled], return_counts=True)
  if sizes.min() < 2:
    raise names.ClassError(
      'class {} has one labeled image, and each class needs two: one to train'
      ' on, and one to validate on',
      classes[sizes.argmin()],
    )
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.VALIDATION_SPLIT, num_folds
  )
  shuffled = generator.permutation(np.sort(labeled))
  # Dealt out class by class, without a break between classes.
  dealt = shuffled[np.argsort(labels[shuffled], kind='stable')]
  return np.sort(dealt[fold::num_folds])
