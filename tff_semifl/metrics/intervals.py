# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""95% confidence intervals of accuracies and their differences."""

from collections.abc import Sequence
import math
import statistics
from typing import NamedTuple

import numpy as np
from scipy import stats

_LEVEL = 0.95
_QUANTILE = statistics.NormalDist().inv_cdf((1 + _LEVEL) / 2)


class Interval(NamedTuple):
  """A 95% confidence interval of a fraction, such as an accuracy."""

  low: float
  high: float

  def __str__(self) -> str:
    return f'{self.low:.1%} to {self.high:.1%}'


def of_accuracy(num_right: int, num_images: int) -> Interval:
  """Wilson's interval (1927) of an accuracy on at least one image."""
  test = stats.binomtest(int(num_right), int(num_images))
  return Interval(*test.proportion_ci(_LEVEL, 'wilson'))


def of_difference(before: np.ndarray, after: np.ndarray) -> Interval:
  """Agresti and Min's interval (2005) of the gain in accuracy.

  `before` and `after`, bool [images], are whether two models predict each image
  correctly. There is at least one image.
  """
  # Agresti and Min add half an image to each of the four combinations.
  gained = np.sum(after & ~before) + 0.5
  lost = np.sum(before & ~after) + 0.5
  num_images = len(before) + 2
  mean = (gained - lost) / num_images
  error = math.sqrt((gained + lost) / num_images - mean**2) / math.sqrt(
    num_images
  )
  low, high = mean - _QUANTILE * error, mean + _QUANTILE * error
  return Interval(max(low, -1.0), min(high, 1.0))


def show(num_right: int, num_images: int) -> str:
  """Text with an accuracy and its interval, or 'no images'."""
  if not num_images:
    return 'no images'
  share = num_right / num_images
  return f'{share:.1%} ({of_accuracy(num_right, num_images)})'


def describe(accuracy: float, class_sizes: Sequence[int]) -> str:
  """Text with an accuracy, the number of test images, and the interval."""
  num_images = int(sum(class_sizes))
  found = of_accuracy(round(accuracy * num_images), num_images)
  return (
    f'{accuracy:.1%} of {describe_images(class_sizes)} (95% interval'
    f' {found})'
  )


def describe_images(class_sizes: Sequence[int]) -> str:
  """Text with the number of images, and of classes if some have no images."""
  num_images, num_classes = int(sum(class_sizes)), len(class_sizes)
  text = f'{num_images} image{"" if num_images == 1 else "s"}'
  num_seen = int(np.count_nonzero(class_sizes))
  if num_seen < num_classes:
    text += f' of {num_seen} of {num_classes} classes'
  return text
