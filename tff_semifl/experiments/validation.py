# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The validation split: labeled images to choose settings by.

Settings that are chosen by the test images make the test accuracy too good.
Instead, some of the server's labeled images can be held out and evaluated on;
the test images are then not used.
"""

import dataclasses

import numpy as np

from tff_semifl import settings
from tff_semifl.data import validation_split
from tff_semifl.experiments import image_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class Validation(settings.Settings):
  """The number of the server's labeled images that models are evaluated on."""

  num_validation: int | None = settings.setting(
    None,
    "Evaluate on so many of the server's labeled images in place of the test"
    ' images, to choose settings by: as evenly of each class as the labels'
    ' allow, the same ones for all systems and settings with the same labels'
    ' and seed. Nobody trains on them.',
    settings.AT_LEAST_1,
  )

  def hold_out(
    self, data: image_task.TaskData, labeled: np.ndarray, seed: int
  ) -> tuple[np.ndarray, image_task.TaskData]:
    """Holds out validation images from the labeled ones, if any are asked for.

    Args:
      data: A task's images.
      labeled: int64, indices of the labeled ones among `data.train`.
      seed: The run's seed.

    Returns:
      The remaining indices to train on, in the same order; and the data with
      the held-out images as test images.

    Raises:
      settings.SettingError: If there are too few labeled images.
    """
    if self.num_validation is None:
      return labeled, data
    with settings.blame('num_validation', self.num_validation):
      held_out = validation_split.draw(
        data.train.labels, labeled, self.num_validation, seed
      )
    return (
      labeled[~np.isin(labeled, held_out)],
      data._replace(test=data.train.select(held_out)),
    )

  def hold_out_of_all(
    self, data: image_task.TaskData, seed: int
  ) -> image_task.TaskData:
    """Holds out validation images where all training images are labeled.

    Raises:
      settings.SettingError: If there are too few images.
    """
    if self.num_validation is None:
      return data
    everything = np.arange(len(data.train.labels))
    labeled, changed = self.hold_out(data, everything, seed)
    return changed._replace(train=data.train.select(labeled))

  def __str__(self) -> str:
    """Returns its piece of the name of an experiment, or nothing."""
    if self.num_validation is None:
      return ''
    return f'validation{self.num_validation}'
