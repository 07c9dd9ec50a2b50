# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of resizing and scaling in front of backbones."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.data import resizing
from tff_semifl.features import preparation


def _noise(*shape):
  return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


class PreparationTest(parameterized.TestCase):
  def test_enlarges_bilinearly(self):
    image = np.uint8([[0, 100], [0, 100]]).reshape(1, 2, 2, 1)
    # Centers of the four new pixels are at -1/4, 1/4, 3/4 and 5/4 of the old.
    found = preparation.fit(tf.constant(image), (4, 4))
    np.testing.assert_allclose(found[0, :, :, 0], [[0, 25, 75, 100]] * 4)

  def test_averages_what_gets_smaller(self):
    # A triangle of twice the width weighs four pixels 1, 3, 3, 1; the first is
    # outside at the edge: (3 * 70 + 3 * 0 + 1 * 70) / 7.
    image = np.uint8([[70, 0, 70, 0]] * 4).reshape(1, 4, 4, 1)
    found = preparation.fit(tf.constant(image), (2, 2))
    np.testing.assert_allclose(
      found[0, :, :, 0], [[40, 30]] * 2, rtol=0, atol=1e-4
    )

  @parameterized.parameters(
    ((8, 8), (16, 16)), ((6, 4), (9, 6)), ((9, 12), (8, 8)), ((4, 9), (8, 8))
  )
  def test_fits_as_exported_models_do(self, shape, size):
    images = tf.constant(_noise(2, *shape, 3))
    np.testing.assert_allclose(
      preparation.fit(images, size),
      resizing.scale_and_crop(images, *size),
      rtol=0,
      atol=1e-3,
    )

  def test_takes_gray_images_and_floats(self):
    prepare = preparation.in_range((4, 4), '0_to_1')
    images = _noise(2, 4, 4, 1)
    expected = np.repeat(images / 255, 3, axis=-1)
    for each in (images, images.astype(np.float32)):
      found = prepare(tf.constant(each))
      self.assertEqual(found.dtype, tf.float32)
      np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)

  def test_description_tells_sizes_and_ranges_apart(self):
    descriptions = {
      preparation.in_range(size, name).description
      for size in ((4, 4), (4, 8), (8, 4))
      for name in ('0_to_1', '-1_to_1')
    }
    self.assertLen(descriptions, 6)

  def test_refuses_other_shapes_and_ranges(self):
    prepare = preparation.in_range((4, 4), '0_to_1')
    for shape in ((2, 4, 4), (2, 4, 4, 2)):
      with self.assertRaisesRegex(ValueError, 'found images of shape'):
        prepare(tf.zeros(shape))
    with self.assertRaisesRegex(
      ValueError, "input_range: found '0_to_2'; give one of 0_to_255, 0_to_1"
    ):
      preparation.in_range((4, 4), '0_to_2')


if __name__ == '__main__':
  absltest.main()
