# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Digits whose test images are strange to a model that was trained on digits.

They are inverted, or their pixels are shuffled. How sure of them the model is
says what a least confidence leaves of them:

  python -m launch.evaluate --exported_model=results/mine/export \
    --task=benchmarks.strange_digits:INVERTED
"""

from collections.abc import Callable
import dataclasses

import numpy as np

from tff_semifl.data import sources
from tff_semifl.experiments import image_task
from tff_semifl.tasks import digits


@dataclasses.dataclass(frozen=True, kw_only=True)
class StrangeDigits(image_task.Task):
  """Digits with other test images.

  Attributes:
    change: uint8 [images, height, width, channels] -> the same, changed.
  """

  change: Callable[[np.ndarray], np.ndarray] = lambda images: images

  def create(self) -> image_task.ImageTask:
    """Creates the task."""
    task = digits.Digits().create()

    def load_test(*, may_download: bool = True) -> sources.LabeledImages:
      test = task.load_test_images(may_download=may_download)
      return test._replace(images=self.change(test.images))

    return dataclasses.replace(task, load_test=load_test)


def _invert(images: np.ndarray) -> np.ndarray:
  """Returns dark for bright."""
  return 255 - images


def _shuffle_pixels(images: np.ndarray) -> np.ndarray:
  """Returns the pixels of each image in an order of its own."""
  pixels = images.reshape(len(images), -1)
  return np.random.default_rng(0).permuted(pixels, axis=1).reshape(images.shape)


INVERTED = StrangeDigits(change=_invert)
SHUFFLED = StrangeDigits(change=_shuffle_pixels)
