# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of weak and strong augmentation."""

import dataclasses

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.data import example_kinds
from tff_semifl.experiment import image_task
from tff_semifl.settings import references

# Builders of strong augmentations, which follow the weak one; or the builders'
# names in `tff_semifl.augment`, whose modules are imported when chosen.
BUILDERS = {
  'fedmatch': 'fedmatch_policy:build_fedmatch_rand_augment',
  'fixmatch': 'fixmatch_policy:build_fixmatch_rand_augment',
  'fixmatch_pytorch': 'fixmatch_policy:build_fixmatch_pytorch_rand_augment',
  'keras_cv': 'keras_cv_policy:build_keras_cv_rand_augment',
  'keras_cv_gentle': 'keras_cv_policy:build_gentle_rand_augment',
  'semifl': 'semifl_policy:build_semifl_rand_augment',
}


def build(name: str) -> augmentation.Augmentation:
  """Builds the augmentation of this name in `BUILDERS`."""
  builder = BUILDERS[name]
  if isinstance(builder, str):
    builder = references.load(f'tff_semifl.augment.{builder}')
  return builder()


def load_outside(reference: str) -> augmentation.Augmentation:
  """Loads a user's augmentation from 'package.module:NAME'."""
  found = references.load(reference)
  if not callable(found) or isinstance(found, type):
    raise ValueError(
      'must be a function (images, seed) -> images of the same shape'
    )
  return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class StrongAugmentation(settings.Settings):
  """The choice of the strong augmentation."""

  strong_augmentation: str | None = settings.setting(
    None,
    "RandAugment of SemiFL's code, of FixMatch, of its port to PyTorch, which"
    ' Zhang et al. have, of FedMatch or of KerasCV, at its own magnitude or a'
    " low one. By default SemiFL's, which leaves an image in seven blank, as in"
    " the paper's tables; keras_cv_gentle for digits and image_folder, and"
    ' fixmatch_pytorch for emnist.',
    settings.one_of_or_outside(BUILDERS, load_outside),
  )

  def apply(self, task: image_task.ImageTask) -> image_task.ImageTask:
    """The task with the chosen strong augmentation."""
    if self.strong_augmentation is None:
      return task
    kind = example_kinds.kind_of(task.image_shape)
    if (
      kind is not example_kinds.IMAGES and self.strong_augmentation in BUILDERS
    ):
      raise settings.SettingError(
        'strong_augmentation',
        self.strong_augmentation,
        f'is of images, but the task has {kind.name}, which are given noise;'
        ' leave it out',
      )
    return dataclasses.replace(
      task,
      strong_augmentation=image_task.weak_then_strong(
        task.weak_augmentation, self._create()
      ),
    )

  def _create(self) -> augmentation.Augmentation:
    if self.strong_augmentation in BUILDERS:
      return build(self.strong_augmentation)
    return load_outside(self.strong_augmentation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeakAugmentation(settings.Settings):
  """Whether the task's weak augmentation is applied."""

  weak_augmentation: str | None = settings.setting(
    None,
    'With none, no weak augmentation, neither alone nor before the strong one.'
    ' By default that of the task: random shifts and, where mirror images are'
    ' of the same class, flips.',
    settings.one_of('none'),
  )

  def apply(self, task: image_task.ImageTask) -> image_task.ImageTask:
    """The task with the chosen weak augmentation."""
    if self.weak_augmentation is None:
      return task
    strong = task.strong_augmentation
    if isinstance(strong, image_task.WeakThenStrong):
      strong = strong._replace(weak=augmentation.keep)
    return dataclasses.replace(
      task, weak_augmentation=augmentation.keep, strong_augmentation=strong
    )
