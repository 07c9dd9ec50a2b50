# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A validation split of the labeled images."""

import numpy as np

from tff_semifl.randomness import random_seeds


def draw(
  labels: np.ndarray, labeled: np.ndarray, num_validation: int, seed: int
) -> np.ndarray:
  """Draws labeled images for validation, evenly from the classes if possible.

  Each class keeps at least one image for training.

  Args:
    labels: int [num_images], the classes.
    labeled: int64, indices of the labeled images; their order does not matter.
    num_validation: How many to draw, at least 1.
    seed: The run's seed.

  Returns:
    int64 [num_validation], sorted indices of the images.

  Raises:
    ValueError: A class would have no image left for training.
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
