# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of distribution alignment (F.8)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.methods import distribution_alignment


def _align(probabilities, *shares, **others):
  """Returns aligned probabilities."""
  aligned = distribution_alignment.align(
    tf.math.log(tf.constant(probabilities, tf.float32)),
    *(tf.constant(each, tf.float32) for each in shares),
    **others,
  )
  return tf.nn.softmax(aligned)


class AlignTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(1.0, 0.5)
  def test_equals_numpy(self, strength):
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet(np.ones(4), size=6)
    predicted, wanted = generator.dirichlet(np.ones(4), size=2)
    found = _align(probabilities, predicted, wanted, strength=strength)
    ratio = (wanted + 1e-6) / (predicted + 1e-6)
    expected = probabilities * ratio**strength
    self.assertAllClose(found, expected / expected.sum(1, keepdims=True))

  def test_equal_shares_are_wanted_by_default(self):
    probabilities, predicted = [[0.5, 0.3, 0.2]], [0.6, 0.3, 0.1]
    self.assertAllClose(
      _align(probabilities, predicted),
      _align(probabilities, predicted, np.full(3, 1 / 3)),
    )

  def test_class_that_was_never_predicted_is_raised_within_bounds(self):
    logits = distribution_alignment.align(
      tf.zeros([1, 2]), tf.constant([1.0, 0.0])
    )
    self.assertAllClose(logits, [[0, np.log(1e6)]], atol=1e-5)


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
