# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that operations on gray levels equal Pillow's exactly."""

from absl.testing import parameterized
import numpy as np
from PIL import ImageEnhance
from PIL import ImageOps
import pytest
import tensorflow as tf

from tests.augment import pillow
from tff_semifl.augment import color_operations

_SIZES = ((32, 20), (2, 3))
_ENHANCEMENTS = {
  'brightness': (color_operations.enhance_brightness, ImageEnhance.Brightness),
  'color': (color_operations.enhance_color, ImageEnhance.Color),
  'contrast': (color_operations.enhance_contrast, ImageEnhance.Contrast),
  'sharpness': (color_operations.enhance_sharpness, ImageEnhance.Sharpness),
}


def _run(operation, images, *parameters):
  """Applies an operation in a graph of unknown batch size."""
  function = tf.function(
    operation,
    input_signature=[
      tf.TensorSpec([None, None, None, 3]),
      *(tf.TensorSpec([None], np.asarray(each).dtype) for each in parameters),
    ],
  )
  views = function(tf.cast(images, tf.float32), *parameters).numpy()
  np.testing.assert_array_equal(views, np.rint(views))
  return views


class ColorOperationsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(
    operations=[
      (color_operations.invert, ImageOps.invert),
      (color_operations.auto_contrast, ImageOps.autocontrast),
      (color_operations.equalize, ImageOps.equalize),
    ],
    size=_SIZES,
  )
  def test_without_strength(self, operations, size):
    ours, theirs = operations
    images = pillow.create_images(*size)
    self.assertAllEqual(_run(ours, images), pillow.apply(theirs, images))

  @parameterized.product(name=list(_ENHANCEMENTS), size=_SIZES)
  def test_enhancement(self, name, size):
    ours, theirs = _ENHANCEMENTS[name]
    images = np.repeat(pillow.create_images(*size), 4, axis=0)
    # Factors in use, and extreme factors.
    factors = np.resize([0.0, 0.28, 0.46, 1.0, 1.18, 1.72, 1.9], len(images))
    expected = pillow.apply(
      lambda image, factor: theirs(image).enhance(factor), images, factors
    )
    self.assertAllEqual(_run(ours, images, factors), expected)

  def test_every_gray_level(self):
    """Tests rounding, by an image with all gray levels."""
    images = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    images = np.tile(images, [1, 1, 1, 3])
    for factor in np.linspace(0.1, 1.9, 19):
      self.assertAllEqual(
        color_operations.enhance_brightness(
          tf.cast(images, tf.float32), factor
        ),
        pillow.apply(
          lambda image, factor=factor: ImageEnhance.Brightness(image).enhance(
            factor
          ),
          images,
        ),
      )

  @pytest.mark.slow
  def test_auto_contrast_of_every_range(self):
    lowest, highest = np.nonzero(np.triu(np.ones([256, 256]), 1))
    # Each channel of an image has its own range, and some levels in the range.
    lowest, highest = lowest[:32640], highest[:32640]
    fractions = np.linspace(0, 1, 6)[:, None]
    levels = np.rint(lowest + fractions * (highest - lowest)).astype(np.uint8)
    images = levels.reshape(2, 3, -1, 3).transpose(2, 0, 1, 3)
    self.assertAllEqual(
      _run(color_operations.auto_contrast, images),
      pillow.apply(ImageOps.autocontrast, images),
    )
