# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Scikit-learn's handwritten digits: 1,797 images of 8x8 pixels, no download.

The images are the test set of Alpaydin and Kaynak's "Optical Recognition of
Handwritten Digits" (UCI, 1998), written by 13 people.
"""

import dataclasses
import functools

import numpy as np

from tff_semifl.augment import augmentation
from tff_semifl.augment import keras_cv_policy
from tff_semifl.data import sources
from tff_semifl.experiment import image_task

_MAX_LEVEL = 16
# Every fifth image is a test image, so that both sets have all writers.
_TEST_STRIDE = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Digits(image_task.Task):
  """Scikit-learn's digits: 1,437 training and 360 test images."""

  short_name = 'digits'

  def create(self) -> image_task.ImageTask:
    # The mirror image of a digit is not a digit.
    weak_augmentation = functools.partial(
      augmentation.flip_and_crop, flip=False, padding=1
    )
    return image_task.ImageTask(
      image_shape=(8, 8, 1),
      class_names=tuple(str(digit) for digit in range(10)),
      pixel_mean=(0.305,),
      pixel_standard_deviation=(0.376,),
      load=_load,
      weak_augmentation=weak_augmentation,
      strong_augmentation=image_task.weak_then_strong(
        weak_augmentation,
        # KerasCV's default strength leaves little of an image of 8x8 pixels.
        # (Its equalization does not change such small images.)
        keras_cv_policy.build_gentle_rand_augment(),
      ),
      model_depth=7,
      model_width=2,
      model_num_groups=2,
      num_labeled=50,
    )


def _load() -> sources.TaskData:
  # A slow import, which would delay loading the registry of tasks.
  from sklearn import datasets

  digits = datasets.load_digits()
  images = np.rint(digits.images * (255 / _MAX_LEVEL)).astype(np.uint8)
  data = sources.LabeledImages(
    images[..., np.newaxis], digits.target.astype(np.int32)
  )
  is_test = np.arange(len(data.labels)) % _TEST_STRIDE == 0
  return sources.TaskData(
    train=data.select(np.flatnonzero(~is_test)),
    test=data.select(np.flatnonzero(is_test)),
  )
