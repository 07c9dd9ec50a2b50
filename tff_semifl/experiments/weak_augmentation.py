# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The setting of whether to augment weakly."""

import dataclasses

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.experiments import image_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeakAugmentation(settings.Settings):
  """The choice to train on images without weak augmentation."""

  weak_augmentation: str | None = settings.setting(
    None,
    'With none, no weak augmentation, neither alone nor before the strong one.'
    ' By default that of the task: random shifts and, where mirror images are'
    ' of the same class, flips.',
    settings.one_of('none'),
  )

  def apply(self, task: image_task.ImageTask) -> image_task.ImageTask:
    """The task with this choice."""
    if self.weak_augmentation is None:
      return task
    strong = task.strong_augmentation
    if isinstance(strong, image_task.WeakThenStrong):
      strong = strong._replace(weak=augmentation.keep)
    return dataclasses.replace(
      task, weak_augmentation=augmentation.keep, strong_augmentation=strong
    )
