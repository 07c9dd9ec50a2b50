# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures how much of an image a strong augmentation leaves.

A network learns nothing about a class from views of one color. How many of
them an augmentation makes depends on the images, so it is measured on these.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.randomness import random_seeds

# Of an image, 1% of the range of pixels: to the eye it is of one color.
BLANK_IMAGE_CONTRAST = 2.55
# Of a view, as a share of the contrast of its image.
BLANK_VIEW_RATIO = 0.05
# Of up to so many images, so many views are made of each.
_MAX_IMAGES = 64
_VIEWS_PER_IMAGE = 8
# Fewer images are taken if these would have more pixels than 64 of 256x256.
_MAX_PIXELS = 64 * 256 * 256
_MIN_IMAGES = 8


class RemainingContrast(NamedTuple):
  """The contrast of images that is left after an augmentation.

  Attributes:
    num_blank_images: Images with less contrast than `BLANK_IMAGE_CONTRAST`
      before anything is done to them. No view of them is counted.
    num_views: Views of the other images.
    num_blank_views: Those that keep less than `BLANK_VIEW_RATIO`.
    median_ratio: Median over views of a view's contrast over its image's; 1
      where nothing is lost. NaN without a view.
    low_ratio: The ratio that 5% of views do not exceed. NaN without a view.
  """

  num_blank_images: int
  num_views: int
  num_blank_views: int
  median_ratio: float
  low_ratio: float

  def describe(self) -> list[str]:
    """Describes the measurement in lines of up to 100 characters."""
    lines = []
    if self.num_blank_images:
      lines.append(
        f'images that are blank themselves and not counted:'
        f' {self.num_blank_images}'
      )
    if self.num_views:
      lines += [
        f'strong views: {self.num_blank_views} of {self.num_views} are blank,'
        f" with less than {BLANK_VIEW_RATIO:.0%} of their image's contrast",
        'contrast kept (ratio of standard deviations of pixels): median'
        f' {self.median_ratio:.2f}, in one view of twenty'
        f' {self.low_ratio:.2f} or less',
      ]
    else:
      lines.append('strong views: not measured, as there is no other image')
    return lines


def compute_contrast(images: np.ndarray) -> np.ndarray:
  """Computes the contrast of each image.

  It is the standard deviation of its pixels, each channel from its own mean:
  the root of the mean over channels of the variance over pixels. Of one color
  it is 0, and of half black, half white pixels 127.5, the highest there is.

  Args:
    images: uint8 [number, height, width, channels].

  Returns:
    float64 [number], in gray levels.
  """
  variances = np.asarray(images, np.float64).var(axis=(1, 2))
  return np.sqrt(variances.mean(axis=-1))


def measure(
  images: np.ndarray, strong: augmentation.Augmentation, *, seed: int
) -> RemainingContrast:
  """Measures the contrast that is left in up to 512 views of images.

  A view that shows nothing of its image but has a contrast of its own, such as
  a gray box on black, is not noticed.

  Args:
    images: uint8 [number, height, width, channels]. Up to 64, evenly spaced
      among them, are looked at, fewer of images larger than 256x256.
    strong: The augmentation.
    seed: The run's seed; another one gives other views.

  Returns:
    The measurement.
  """
  height, width = images.shape[1:3]
  max_images = max(
    min(_MAX_IMAGES, _MAX_PIXELS // (height * width)), _MIN_IMAGES
  )
  count = min(len(images), max_images)
  # Images are often sorted by their class.
  chosen = np.asarray(images[np.arange(count) * len(images) // max(count, 1)])
  contrast = compute_contrast(chosen)
  is_blank = contrast < BLANK_IMAGE_CONTRAST
  chosen, contrast = chosen[~is_blank], contrast[~is_blank]
  num_blank_images = int(is_blank.sum())
  if not len(chosen):
    return RemainingContrast(num_blank_images, 0, 0, np.nan, np.nan)
  augment = tf.function(strong)
  ratios = np.empty([_VIEWS_PER_IMAGE, len(chosen)])
  for index in range(_VIEWS_PER_IMAGE):
    key = random_seeds.stateless_seed(
      seed, random_seeds.Purpose.STRONG_VIEW, index
    )
    ratios[index] = compute_contrast(augment(chosen, key).numpy()) / contrast
  return RemainingContrast(
    num_blank_images=num_blank_images,
    num_views=ratios.size,
    num_blank_views=int((ratios < BLANK_VIEW_RATIO).sum()),
    median_ratio=float(np.median(ratios)),
    low_ratio=float(np.percentile(ratios, 5)),
  )
