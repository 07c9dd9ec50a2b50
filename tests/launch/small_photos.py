# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small folder of images, with fast augmentations."""

import dataclasses

from tasks import image_folder
from tests import small_digits
from tff_semifl.experiment import image_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class SmallPhotos(image_folder.ImageFolder):
  """The images, with a shift as strong augmentation."""

  def create(self) -> image_task.ImageTask:
    """Creates the task."""
    with small_digits.without_rand_augment():
      return super().create()
