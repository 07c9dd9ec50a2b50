# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of resizing, against Pillow."""

from absl.testing import parameterized
import numpy as np
import PIL.Image
import PIL.ImageOps
import tensorflow as tf

from tff_semifl.data import image_files
from tff_semifl.data import pixels


def _smooth_image(height, width):
  """A color image in which no two rows or columns are alike."""
  generator = np.random.default_rng(height * width)
  small = generator.integers(256, size=(4, 5, 3), dtype=np.uint8)
  return np.asarray(PIL.Image.fromarray(small).resize((width, height)))


class FitToSizeTest(parameterized.TestCase):
  @parameterized.parameters((50, 80), (5, 9), (12, 30), (33, 16))
  def test_is_that_of_pillow_but_for_rounding(self, height, width):
    image = _smooth_image(height, width)
    expected = PIL.ImageOps.fit(
      PIL.Image.fromarray(image), (16, 12), PIL.Image.Resampling.BILINEAR
    )
    found = image_files.fit_image(image, 12, 16)
    self.assertEqual(found.shape, (12, 16, 3))
    # Pillow rounds twice, once for each direction.
    np.testing.assert_allclose(
      found.astype(int), np.asarray(expected).astype(int), atol=1
    )

  def test_stripes_are_averaged_and_what_is_beyond_is_cut_off(self):
    # Eight columns are cropped to the middle four, black and white in turn, and
    # these are scaled to two. The outer columns are gray.
    row = [100, 100, 0, 255, 0, 255, 100, 100]
    images = tf.constant(np.tile(row, [1, 4, 1]), tf.uint8)[..., tf.newaxis]
    found = pixels.scale_and_crop(images, 2, 2)[0, :, :, 0]
    # A triangle over four pixels has the weights 1/8, 3/8, 3/8, 1/8.
    left = (100 + 3 * 0 + 3 * 255 + 0) / 8
    right = (255 + 3 * 0 + 3 * 255 + 100) / 8
    np.testing.assert_allclose(found, [[left, right]] * 2, rtol=1e-5)
    np.testing.assert_array_equal(
      pixels.fit_to_size(images, 2, 2)[0, :, :, 0],
      np.rint([[left, right]] * 2),
    )

  @parameterized.parameters(1, 3)
  def test_what_has_the_size_stays_as_it_is(self, num_channels):
    generator = np.random.default_rng(0)
    images = generator.integers(
      256, size=(3, 12, 16, num_channels), dtype=np.uint8
    )
    function = tf.function(
      lambda images: pixels.fit_to_size(images, 12, 16),
      input_signature=[
        tf.TensorSpec([None, None, None, num_channels], tf.uint8)
      ],
    )
    found = function(tf.constant(images))
    self.assertEqual(found.dtype, tf.float32)
    np.testing.assert_array_equal(found, images)
    # Images of other sizes give the same result.
    self.assertEqual(
      function(tf.zeros([2, 5, 7, num_channels], tf.uint8)).shape,
      (2, 12, 16, num_channels),
    )
