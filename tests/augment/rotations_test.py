# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of quarter turns (F.8)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.baselines.one_place import remixmatch


class RotateTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(3, 4, 10)
  def test_says_how_often_each_was_turned(self, num_images):
    images = np.random.default_rng(0).uniform(size=(num_images, 5, 5, 2))
    turned, num_turns = remixmatch.rotate(tf.constant(images))
    self.assertEqual(num_turns.dtype, tf.int32)
    # Image 0, 4, 8, ... is not turned, 1, 5, 9, ... once, and so on.
    order = sorted(range(num_images), key=lambda i: (i % 4, i))
    self.assertAllEqual(num_turns, [i % 4 for i in order])
    for found, i in zip(turned, order, strict=True):
      self.assertAllEqual(found, np.rot90(images[i], i % 4))

  def test_images_that_are_not_square(self):
    with self.assertRaisesRegex(ValueError, r'not square: \(4, 6\)'):
      remixmatch.rotate(tf.zeros([4, 4, 6, 1]))


if __name__ == '__main__':
  absltest.main()
