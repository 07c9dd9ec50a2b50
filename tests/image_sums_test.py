# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of sums over the images of a client."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl import image_sums

_VALUES = np.array([[1, 2], [4, 8], [16, 32]], np.float32)


class ImageSumsTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 2, 3, None)
  def test_of_the_first_rows(self, num_images):
    first = _VALUES[:num_images]
    number = None if num_images is None else tf.constant(num_images)
    with image_sums.of_first(number):
      self.assertEqual(image_sums.count(_VALUES), len(first))
      np.testing.assert_array_equal(
        image_sums.add_up(tf.constant(_VALUES)), first.sum(axis=0)
      )
      np.testing.assert_allclose(
        image_sums.mean(tf.constant(_VALUES)),
        first.sum(axis=0) / max(len(first), 1),
      )
    # Outside of the context, rows are images again.
    self.assertEqual(image_sums.count(_VALUES), 3)

  def test_padding_need_not_be_finite(self):
    with image_sums.of_first(tf.constant(2)):
      found = image_sums.add_up(tf.constant([1.0, 2.0, np.nan]))
    self.assertEqual(found, 3)


if __name__ == '__main__':
  absltest.main()
