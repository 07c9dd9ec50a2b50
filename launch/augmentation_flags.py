# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag that says how strong views are made."""

import dataclasses

from absl import flags

from launch import policies
from tasks import image_task

# What `tasks.image_folder` has if nobody says otherwise.
IMAGE_FOLDER_AUGMENTATION = 'keras_cv_gentle'

STRONG_AUGMENTATION = flags.DEFINE_enum(
  'strong_augmentation',
  None,
  sorted(policies.BUILDERS),
  "RandAugment of SemiFL's code, of FixMatch, of its port to PyTorch, which the"
  ' benchmark has, of FedMatch or of KerasCV, at its own strength or gentler'
  " (D24). By default as the task has it: SemiFL's, which leaves one view in"
  " seven blank as in the paper's tables, but keras_cv_gentle for digits and"
  " image_folder and the benchmark's for emnist.",
)
BENCHMARK_VIEWS = flags.DEFINE_bool(
  'benchmark_views',
  False,
  "Whether views and the normalisation of pixels are the benchmark's, for"
  ' cifar10 and svhn (D23, D28). emnist has them in any case.',
)


def with_chosen_augmentation(
  task: image_task.ImageTask,
) -> image_task.ImageTask:
  """Returns the task with the strong augmentation that the flag names."""
  name = STRONG_AUGMENTATION.value
  if name is None:
    return task
  return dataclasses.replace(
    task,
    strong_augmentation=image_task.weak_then_strong(
      task.weak_augmentation, policies.BUILDERS[name]()
    ),
  )
