# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SVHN with the constants of SemiFL's experiments (C.1, C.2, Table 4).

Digits of house numbers. TFDS has the digit as the label, 0 to 9. The half
million images of the split "extra" are not used, as in the paper.
"""

import functools

from tasks import image_task
from tff_semifl.augment import semifl_policy
from tff_semifl.augment import weak
from tff_semifl.data import sources


def create_task() -> image_task.ImageTask:
  """Creates the task; 73,257 training and 26,032 test images by TFDS."""
  # No flip, in weak and strong views: the mirror image of a digit is none. The
  # benchmark's code has one (D28).
  weak_augmentation = functools.partial(
    weak.flip_and_crop, flip=False, padding=4
  )
  return image_task.ImageTask(
    image_shape=(32, 32, 3),
    class_names=tuple(str(digit) for digit in range(10)),
    pixel_mean=(0.4377, 0.4438, 0.4728),
    pixel_standard_deviation=(0.1980, 0.2010, 0.1970),
    load=_load,
    load_test=functools.partial(
      sources.load_tfds_split, 'svhn_cropped', 'test'
    ),
    weak_augmentation=weak_augmentation,
    strong_augmentation=image_task.weak_then_strong(
      weak_augmentation, semifl_policy.build_semifl_rand_augment()
    ),
    model_depth=28,
    model_width=2,
    # Of the tables' 250 and 1000; the text has others (D18).
    num_labeled=1000,
  )


def _load(data_dir: str | None) -> image_task.TaskData:
  train, test = sources.load_tfds('svhn_cropped', ['train', 'test'], data_dir)
  return image_task.TaskData(train, test)
