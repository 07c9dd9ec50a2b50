# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of padding after the images of clients."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.training import compiled_loop


class PadTest(parameterized.TestCase):
  @parameterized.parameters((0, 1), (1, 1), (4, 4), (5, 8), (1025, 2048))
  def test_to_a_power_of_two(self, number, size):
    labels = np.arange(number, dtype=np.int32) + 7
    images = np.tile(
      labels[:, np.newaxis, np.newaxis, np.newaxis], [1, 2, 2, 3]
    )
    rows = compiled_loop.PaddedRows(
      *compiled_loop.pad((tf.constant(images), tf.constant(labels)))
    )
    self.assertEqual(rows.number, number)
    last = number + 6 if number else 0
    expected = [*labels, *[last] * (size - number)]
    padded_images, padded_labels = rows.examples
    np.testing.assert_array_equal(padded_labels, expected)
    self.assertEqual(padded_images.shape, (size, 2, 2, 3))
    np.testing.assert_array_equal(padded_images[:, 1, 0, 2], expected)


if __name__ == '__main__':
  absltest.main()
