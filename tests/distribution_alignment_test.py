# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of distribution alignment (F.8)."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl import distribution_alignment


class AlignTest(tf.test.TestCase):
  def test_equals_numpy(self):
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet(np.ones(4), size=6)
    wanted, predicted = generator.dirichlet(np.ones(4), size=2)
    found = distribution_alignment.align(
      *(tf.constant(a, tf.float32) for a in (probabilities, wanted, predicted))
    )
    expected = probabilities * (wanted + 1e-6) / (predicted + 1e-6)
    self.assertAllClose(found, expected / expected.sum(1, keepdims=True))

  def test_changes_nothing_where_predictions_are_as_wanted(self):
    shares = tf.constant([0.2, 0.8])
    probabilities = tf.constant([[0.5, 0.5], [0.1, 0.9]])
    self.assertAllClose(
      distribution_alignment.align(probabilities, shares, shares),
      probabilities,
    )

  def test_a_class_that_is_never_predicted_is_a_number(self):
    found = distribution_alignment.align(
      tf.constant([[0.0, 1.0]]), tf.constant([0.5, 0.5]), tf.constant([0.0, 1])
    )
    self.assertAllClose(found, [[0.0, 1.0]])


class RecentTest(tf.test.TestCase):
  def test_the_newest_batch_takes_the_place_of_the_oldest(self):
    recent = distribution_alignment.initialize_recent(2, 3)
    self.assertAllEqual(recent, np.full([3, 2], 0.5))
    # Means of batches, of any size.
    for batch in ([[1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]):
      recent = distribution_alignment.remember(recent, tf.constant(batch))
    self.assertAllClose(recent, [[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])


if __name__ == '__main__':
  absltest.main()
