# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The validation split: labeled images to choose settings by.

Choosing settings on the test images makes the test accuracy too optimistic.
Instead, some of the server's labeled images can be held out for evaluation; the
test images are then not used.
"""

from collections.abc import Mapping
import dataclasses
import re
from typing import Any

import numpy as np

from tff_semifl import settings
from tff_semifl.data import data_errors
from tff_semifl.data import sources
from tff_semifl.randomness import random_seeds

# The settings that choose a split; at most one is given.
SETTINGS = ('num_validation', 'validation_fold')
_FOLD = re.compile(r'([1-9]\d*)/([1-9]\d*)')


def draw(
  labels: np.ndarray, labeled: np.ndarray, num_validation: int, seed: int
) -> np.ndarray:
  """Draws labeled images for validation, evenly from the classes if possible.

  Each class keeps at least one image for training.

  `labels` are int [num_images], `labeled` the int64 indices of the labeled
  images in any order; the result is int64 [num_validation], sorted indices.
  """
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.VALIDATION_SPLIT
  )
  shuffled = generator.permutation(np.sort(labeled))
  # Classes give one image each in turn, but keep their last image.
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
  """Draws one of `num_folds` disjoint parts of the labeled images.

  The sizes of parts differ by at most one, in all and in each class. The result
  is int64, sorted indices of the images.
  """
  if num_folds > len(labeled):
    raise ValueError(
      f'the server has {len(labeled)} labeled images, too few for {num_folds}'
      ' parts'
    )
  classes, sizes = np.unique(labels[labeled], return_counts=True)
  if sizes.min() < 2:
    raise data_errors.ClassError(
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


def is_chosen(values: Mapping[str, Any]) -> bool:
  """Whether settings by name choose a validation split."""
  return any(values.get(name) is not None for name in SETTINGS)


def _is_fold(value: str) -> bool:
  found = _FOLD.fullmatch(value)
  return found is not None and int(found[1]) <= int(found[2]) >= 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Validation(settings.Settings):
  """The server's labeled images that models are evaluated on, if any."""

  num_validation: int | None = settings.setting(
    None,
    "Evaluate on so many of the server's labeled images in place of the test"
    ' images, to choose settings by: as evenly of each class as the labels'
    ' allow, the same ones for all systems and settings with the same labels'
    ' and seed. Nobody trains on them.',
    settings.AT_LEAST_1,
  )
  validation_fold: str | None = settings.setting(
    None,
    "The same with one of several equal parts of the server's labeled images,"
    ' as evenly of each class as the labels allow: 2/5 is the second of five.'
    ' --cross_validation of launch.train takes each of them once.',
    settings.Values('FOLD/FOLDS, such as 2/5', _is_fold),
  )

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.num_validation is not None and self.validation_fold is not None:
      raise settings.SettingError(
        'validation_fold',
        self.validation_fold,
        'says which images to validate on; leave num_validation out',
      )

  def hold_out(
    self, data: sources.TaskData, labeled: np.ndarray, seed: int
  ) -> tuple[np.ndarray, sources.TaskData]:
    """Holds out validation images from the labeled images, if chosen.

    `labeled` are int64 indices of labeled images in `data.train`. Returns the
    labeled indices that are left, and the data with the held-out images as
    `test`.
    """
    if self.num_validation is not None:
      with settings.blame('num_validation', self.num_validation):
        held_out = draw(data.train.labels, labeled, self.num_validation, seed)
    elif self.validation_fold is not None:
      fold, num_folds = map(int, self.validation_fold.split('/'))
      with settings.blame('validation_fold', self.validation_fold):
        held_out = draw_fold(
          data.train.labels, labeled, fold - 1, num_folds, seed
        )
    else:
      return labeled, data
    return (
      labeled[~np.isin(labeled, held_out)],
      data._replace(test=data.train.select(held_out)),
    )

  def hold_out_of_all(
    self, data: sources.TaskData, seed: int
  ) -> sources.TaskData:
    """Holds out validation images where all training images are labeled."""
    if self.num_validation is None and self.validation_fold is None:
      return data
    everything = np.arange(len(data.train.labels))
    labeled, changed = self.hold_out(data, everything, seed)
    return changed._replace(train=data.train.select(labeled))

  def __str__(self) -> str:
    """The part of an experiment's default name; may be empty."""
    if self.validation_fold is not None:
      return f'fold{self.validation_fold.replace("/", "of")}'
    return (
      '' if self.num_validation is None else f'validation{self.num_validation}'
    )
