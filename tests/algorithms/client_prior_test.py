# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of class priors of clients, against NumPy and in their limits."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.algorithms.client_priors import numpy_reference
from tff_semifl.algorithms import client_prior

_UNIFORM = np.full(4, 0.25)
_SKEWED = np.array([0.1, 0.2, 0.3, 0.4])


def _estimate(logits, server_prior=_UNIFORM, pseudo_count=10.0, iterations=20):
  return client_prior.estimate(
    tf.constant(logits, tf.float32),
    tf.constant(server_prior, tf.float32),
    pseudo_count=pseudo_count,
    iterations=iterations,
  ).numpy()


class LabelWeightTest(parameterized.TestCase):
  @parameterized.parameters(
    ([2, 2, 2], 0.5),
    # However they are shared out.
    ([6, 0, 0], 0.5),
    ([5] * 10, 2500 / 2900),
    ([100] * 10, 2500 / 2501),
    ([0, 0], 0.0),
  )
  def test_grows_with_the_labels_of_a_class(self, counts, expected):
    weight = client_prior.label_weight(tf.constant(counts, tf.float32))
    np.testing.assert_allclose(weight, expected, rtol=1e-6)


class EstimateTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(pseudo_count=[0.5, 10.0], iterations=[1, 20])
  def test_equals_numpy(self, pseudo_count, iterations):
    logits = np.random.default_rng(0).normal(scale=2, size=(30, 4))
    self.assertAllClose(
      _estimate(logits, _SKEWED, pseudo_count, iterations),
      numpy_reference.estimate_prior(logits, _SKEWED, pseudo_count, iterations),
      rtol=1e-5,
    )

  def test_no_image_leaves_the_prior_of_the_server(self):
    self.assertAllClose(_estimate(np.zeros([0, 4]), _SKEWED), _SKEWED)

  def test_of_a_model_that_is_always_certain_labels_are_counted(self):
    logits = np.random.default_rng(0).normal(size=(50, 4))
    counts = np.bincount(logits.argmax(axis=1), minlength=4)
    self.assertAllClose(
      _estimate(1e30 * logits, _SKEWED), (counts + 10 * _SKEWED) / 60
    )


class PriorTest(tf.test.TestCase):
  def test_class_without_a_label_is_half_a_label(self):
    found = client_prior.from_counts(tf.constant([2.0, 0.0, 7.5]))
    self.assertAllClose(found, [0.2, 0.05, 0.75])

  def test_adapted_to_the_prior_of_the_server_nothing_changes(self):
    logits = tf.random.stateless_normal([5, 4], [1, 2])
    prior = tf.constant(_SKEWED, tf.float32)
    self.assertAllEqual(client_prior.adapt(logits, prior, prior), logits)
    self.assertAllClose(client_prior.logit_offset(prior, prior), tf.zeros(4))

  def test_adapted_probabilities_follow_from_bayes(self):
    logits = np.random.default_rng(0).normal(size=(5, 4))
    joint = np.exp(logits) * _UNIFORM / _SKEWED
    adapted = client_prior.adapt(
      tf.constant(logits, tf.float32),
      tf.constant(_UNIFORM, tf.float32),
      tf.constant(_SKEWED, tf.float32),
    )
    self.assertAllClose(
      tf.nn.softmax(adapted), joint / joint.sum(axis=1, keepdims=True)
    )

  def test_offset_of_a_class_that_is_hardly_there(self):
    found = client_prior.logit_offset(
      tf.constant([0.99999, 0.00001]), tf.constant([0.5, 0.5])
    )
    # Limited to 1 to 1,000 instead of 1 to 100,000.
    self.assertAllClose(found[0] - found[1], np.log(1000), atol=1e-4)


if __name__ == '__main__':
  absltest.main()
