# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks as the benchmark of semi-supervised federated learning varies them.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. C.6.
"""

import dataclasses
import functools

from tasks import image_task
from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_pytorch_policy
from tff_semifl.augment import weak

# The largest shift is an eighth of the image, rounded down.
_PADDING_SHARE = 8
# What the benchmark's code normalises SVHN by, too (D23).
_CIFAR10_PIXEL_MEAN = (0.4914, 0.4822, 0.4465)
_CIFAR10_PIXEL_STANDARD_DEVIATION = (0.2471, 0.2435, 0.2616)


def create_weak_augmentation(
  image_shape: tuple[int, int, int], *, flip: bool = True
) -> augmentation.Augmentation:
  """Creates the flip and shift that the benchmark has for all its images.

  Args:
    image_shape: Height, width and channels.
    flip: Whether to mirror images. The code mirrors digits and letters too, the
      paper speaks of flip and shift (D28).
  """
  return functools.partial(
    weak.flip_and_crop,
    flip=flip,
    padding=min(image_shape[:2]) // _PADDING_SHARE,
  )


def create_strong_augmentation(
  weak_augmentation: augmentation.Augmentation,
) -> augmentation.Augmentation:
  """Creates the RandAugment of a fresh weak view."""
  return image_task.weak_then_strong(
    weak_augmentation,
    fixmatch_pytorch_policy.build_fixmatch_pytorch_rand_augment(),
  )


def adapt_task(
  task: image_task.ImageTask, *, flip: bool = True
) -> image_task.ImageTask:
  """Returns a task of colour images as the benchmark has it.

  Its views are the benchmark's, and pixels are normalised by the numbers that
  its code has for CIFAR-10, and for SVHN as well (D23).

  Args:
    task: CIFAR-10 or SVHN.
    flip: As in `create_weak_augmentation`.

  Raises:
    ValueError: If its images have no three channels.
  """
  if task.image_shape[2] != len(_CIFAR10_PIXEL_MEAN):
    raise ValueError(
      f'images of {task.image_shape[2]} channels cannot be normalised by the'
      " benchmark's numbers, which are of three"
    )
  weak_augmentation = create_weak_augmentation(task.image_shape, flip=flip)
  return dataclasses.replace(
    task,
    pixel_mean=_CIFAR10_PIXEL_MEAN,
    pixel_standard_deviation=_CIFAR10_PIXEL_STANDARD_DEVIATION,
    weak_augmentation=weak_augmentation,
    strong_augmentation=create_strong_augmentation(weak_augmentation),
    # The least that the tables have.
    num_labeled=1000,
  )
