# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of noise on feature vectors."""

import contextlib

import numpy as np
from scipy import stats
import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws

_SCALE = (2.0, 0.1, 30.0)


class AddNoiseTest(tf.test.TestCase):
  def test_is_normal_and_half_a_standard_deviation(self):
    features = tf.constant([[5.0, -1.0, 100.0]] * 4000)
    seed = tf.constant([3, 4])
    for drawing in (
      contextlib.nullcontext(),
      random_draws.drawing_by(portable_draws.GENERATOR),
    ):
      with drawing:
        views = augmentation.add_noise(
          features, seed, standard_deviation=_SCALE
        )
      self.assertEqual(views.dtype, tf.float32)
      self.assertEqual(views.shape, features.shape)
      noise = (views - features).numpy() / (0.5 * np.array(_SCALE))
      for column in noise.T:
        # Right noise would fail once in 10,000 runs, of other seeds.
        self.assertGreater(stats.kstest(column, 'norm').pvalue, 1e-4)
      # The standard error of a correlation is 1 / sqrt(4000).
      self.assertAllClose(np.corrcoef(noise.T), np.eye(3), atol=0.07)

  def test_follows_from_the_seed(self):
    features = tf.zeros([3, 3])
    first, again, other = (
      augmentation.add_noise(
        features, tf.constant(seed), standard_deviation=_SCALE
      )
      for seed in ([1, 2], [1, 2], [1, 3])
    )
    self.assertAllEqual(first, again)
    self.assertNotAllClose(first, other)
    # Padding does not change the other rows.
    more = augmentation.add_noise(
      tf.zeros([5, 3]), tf.constant([1, 2]), standard_deviation=_SCALE
    )
    self.assertAllEqual(more[:3], first)


if __name__ == '__main__':
  tf.test.main()
