# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures how much contrast of images a strong augmentation leaves.

Images of a single color teach a network nothing about classes. How many such
images an augmentation makes depends on the data set.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.randomness import random_seeds

# 1% of the range of pixels: such an image looks like a single color.
BLANK_IMAGE_CONTRAST = 2.55
# Below this fraction of the original's contrast, an augmented image is blank.
BLANK_RATIO = 0.05
_VIEWS_PER_IMAGE = 8
_MAX_IMAGES = 64
# Fewer images, but at least 8, are taken if they are larger than 256x256.
_MAX_PIXELS = 64 * 256 * 256
_MIN_IMAGES = 8


class RemainingContrast(NamedTuple):
  """The contrast that is left in images after an augmentation.

  Blank images have less contrast than `BLANK_IMAGE_CONTRAST` and are not
  measured; blank augmented images keep less than `BLANK_RATIO`. The ratios are
  the median and the 5% quantile of the augmented image's contrast, divided by
  the original's contrast; NaN without images.
  """

  num_blank_images: int
  num_augmented: int
  num_blank_augmented: int
  median_ratio: float
  low_ratio: float

  def describe(self) -> list[str]:
    """The measurement in lines of up to 100 characters."""
    blank = 'blank originals, which are not counted:'
    lines = [f'{blank} {self.num_blank_images}'] * bool(self.num_blank_images)
    if not self.num_augmented:
      none = 'strongly augmented images: none, as all originals are blank'
      return [*lines, none]
    return [
      *lines,
      f'strongly augmented images: {self.num_blank_augmented} of'
      f' {self.num_augmented} are blank, with less than {BLANK_RATIO:.0%}'
      " of the original's contrast",
      'contrast kept (ratio of standard deviations of pixels): median'
      f' {self.median_ratio:.2f}, in one image of twenty'
      f' {self.low_ratio:.2f} or less',
    ]


def compute_contrast(images: np.ndarray) -> np.ndarray:
  """The contrast of each image, in gray levels: float64 [number].

  Contrast is the standard deviation of pixels around the channel's mean: 0 for
  a single color, at most 127.5 (half black, half white).
  """
  variances = np.asarray(images, np.float64).var(axis=(1, 2))
  return np.sqrt(variances.mean(axis=-1))


def measure(
  images: np.ndarray, strong: augmentation.Augmentation, *, seed: int
) -> RemainingContrast:
  """Measures the contrast that is left in up to 512 augmented images.

  Contrast that the augmentation adds also counts, such as a gray box on black.
  Up to 64 evenly spaced `images`, uint8 [number, height, width, channels], are
  measured; fewer if they are larger than 256x256.
  """
  height, width = images.shape[1:3]
  max_images = max(
    min(_MAX_IMAGES, _MAX_PIXELS // (height * width)), _MIN_IMAGES
  )
  count = min(len(images), max_images)
  # Evenly spaced, as images are often sorted by class.
  chosen = np.asarray(images[np.arange(count) * len(images) // max(count, 1)])
  contrast = compute_contrast(chosen)
  is_blank = contrast < BLANK_IMAGE_CONTRAST
  chosen, contrast = chosen[~is_blank], contrast[~is_blank]
  num_blank = int(is_blank.sum())
  if not len(chosen):
    return RemainingContrast(num_blank, 0, 0, np.nan, np.nan)
  # A named tuple, such as `WeakThenStrong`, cannot be a `tf.function` itself.
  augment = tf.function(lambda batch, key: strong(batch, key))
  ratios = np.empty([_VIEWS_PER_IMAGE, len(chosen)])
  for index in range(_VIEWS_PER_IMAGE):
    key = random_seeds.stateless_seed(
      seed, random_seeds.Purpose.STRONG_VIEW, index
    )
    ratios[index] = compute_contrast(augment(chosen, key).numpy()) / contrast
  return RemainingContrast(
    num_blank,
    ratios.size,
    int((ratios < BLANK_RATIO).sum()),
    float(np.median(ratios)),
    float(np.percentile(ratios, 5)),
  )
