# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""CIFAR-10 with the constants of SemiFL's experiments (C.1, C.2, Table 4)."""

import functools

from tasks import image_task
from tff_semifl.augment import semifl_policy
from tff_semifl.augment import weak
from tff_semifl.data import sources


def create_task() -> image_task.ImageTask:
  """Creates the task; 50,000 training and 10,000 test images by TFDS."""
  weak_augmentation = functools.partial(
    weak.flip_and_crop, flip=True, padding=4
  )
  return image_task.ImageTask(
    image_shape=(32, 32, 3),
    class_names=(
      'airplane',
      'automobile',
      'bird',
      'cat',
      'deer',
      'dog',
      'frog',
      'horse',
      'ship',
      'truck',
    ),
    pixel_mean=(0.4914, 0.4822, 0.4465),
    pixel_standard_deviation=(0.2023, 0.1994, 0.2010),
    load=_load,
    load_test=functools.partial(sources.load_tfds_split, 'cifar10', 'test'),
    weak_augmentation=weak_augmentation,
    strong_augmentation=image_task.weak_then_strong(
      weak_augmentation, semifl_policy.build_semifl_rand_augment()
    ),
    model_depth=28,
    model_width=2,
    num_labeled=4000,
  )


def _load(data_dir: str | None) -> image_task.TaskData:
  train, test = sources.load_tfds('cifar10', ['train', 'test'], data_dir)
  return image_task.TaskData(train, test)
