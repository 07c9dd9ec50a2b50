# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""STL-10 with the constants of SemiFL's repository (B.1, C.1, C.2).

The only task here with images whose class nobody knows: 100,000, some of other
classes, which join the clients'. It is not in the paper, and in the authors'
last code it cannot be run (D20). Images, of 96x96 pixels, take 3.1 GB.
"""

import functools

from tasks import image_task
from tff_semifl.augment import semifl_policy
from tff_semifl.augment import weak
from tff_semifl.data import sources


def create_task() -> image_task.ImageTask:
  """Creates the task; 5,000, 100,000 and 8,000 images by TFDS."""
  weak_augmentation = functools.partial(
    weak.flip_and_crop, flip=True, padding=12
  )
  return image_task.ImageTask(
    image_shape=(96, 96, 3),
    class_names=(
      'airplane',
      'bird',
      'car',
      'cat',
      'deer',
      'dog',
      'horse',
      'monkey',
      'ship',
      'truck',
    ),
    pixel_mean=(0.4409, 0.4279, 0.3868),
    pixel_standard_deviation=(0.2683, 0.2610, 0.2687),
    load=_load,
    load_test=functools.partial(sources.load_tfds_split, 'stl10', 'test'),
    weak_augmentation=weak_augmentation,
    strong_augmentation=image_task.weak_then_strong(
      weak_augmentation, semifl_policy.build_semifl_rand_augment()
    ),
    model_depth=37,
    model_width=2,
    # FixMatch's, as SemiFL has no table for it.
    num_labeled=1000,
  )


def _load(data_dir: str | None) -> image_task.TaskData:
  # TFDS gives the unlabelled ones -1 for a label, our `UNKNOWN_LABEL`.
  train, test, unlabelled = sources.load_tfds(
    'stl10', ['train', 'test', 'unlabelled'], data_dir
  )
  return image_task.TaskData(train, test, unlabelled)
