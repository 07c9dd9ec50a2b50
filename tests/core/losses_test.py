# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of losses, and of their gradient for a batch."""

from absl.testing import absltest
import numpy as np
from scipy import special
import tensorflow as tf

from tests import linear_reference
from tff_semifl.algorithms import gradient_steps
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import losses
from tff_semifl.core import training_loop

_LABELS = np.array([0, 2, 1, 1, 0], np.int32)
_ROWS = np.arange(len(_LABELS))
_SEED = tf.constant([3, 4])


class CrossEntropyTest(tf.test.TestCase):
  def test_equals_numpy_with_weights_and_offset(self):
    generator = np.random.default_rng(0)
    logits = generator.normal(scale=3, size=(5, 3)).astype(np.float32)
    offset = np.linspace(-1, 1, 3).astype(np.float32)
    weights = np.array([2.0, 0.0, 0.5, 1.0, 1.0])
    each = -special.log_softmax(logits + offset, axis=1)[_ROWS, _LABELS]
    for labels in (_LABELS, np.eye(3, dtype=np.float32)[_LABELS]):
      found = losses.cross_entropy(logits, labels, weights, offset=offset)
      self.assertEqual(found.shape, [])
      # The sum is divided by the number of all examples.
      self.assertAllClose(found, np.mean(weights * each), rtol=1e-5)

  def test_huge_logits(self):
    logits = tf.constant([[1e4, 0.0], [0.0, 1e4]])
    # Both predictions right: -log(1). Both wrong: -log(exp(-1e4)).
    self.assertAllClose(losses.cross_entropy(logits, tf.constant([0, 1])), 0)
    self.assertAllClose(losses.cross_entropy(logits, tf.constant([1, 0])), 1e4)


class ConsistencyTest(tf.test.TestCase):
  def test_is_the_mean_over_examples_and_classes(self):
    first = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    second = np.array([[0.5, 0.1, 0.4], [0.0, 0.3, 0.7]])
    # (0.16 + 0.16 + 0.09 + 0.09) / 6.
    self.assertAllClose(pooled_method.consistency(first, second), 0.5 / 6)
    self.assertEqual(pooled_method.consistency(first, first), 0)

  def test_divergence_equals_numpy_and_its_gradient_cross_entropys(self):
    target, logits = np.random.default_rng(1).normal(size=(2, 6, 4))
    each = special.rel_entr(
      special.softmax(target, axis=1), special.softmax(logits, axis=1)
    ).sum(axis=1)
    # Images that are left out still count in the divisor.
    self.assertAllClose(
      losses.divergence(target, logits, np.arange(6) < 2), each[:2].sum() / 6
    )
    target, logits = tf.constant(target), tf.constant(logits)
    with tf.GradientTape(persistent=True) as tape:
      tape.watch([target, logits])
      divergence = losses.divergence(target, logits)
      cross_entropy = losses.cross_entropy(logits, tf.nn.softmax(target))
    self.assertAllClose(divergence, each.mean())
    self.assertAllClose(
      tape.gradient(divergence, logits), tape.gradient(cross_entropy, logits)
    )
    self.assertIsNone(tape.gradient(divergence, target))


class BatchLossesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.classifier = linear_reference.create_classifier()
    self.weights = tf.nest.map_structure(
      tf.constant, self.classifier.initial_weights
    )
    self.images = linear_reference.create_images(len(_LABELS))
    self.logits = linear_reference.logits(self.weights.trainable, self.images)

  def test_dropout_follows_from_the_seed_and_labels_have_none(self):
    classifier = linear_reference.create_classifier(dropout_rate=0.5)
    trained = classifier.train_logits(self.weights, self.images, _SEED)
    dropped = linear_reference.drop(self.images, 0.5, _SEED)
    labeled = classifier.batch_logits(
      self.weights, tf.cast(self.images, tf.float32)
    )
    for images, found in ((dropped, trained), (self.images, labeled)):
      expected = linear_reference.logits(self.weights.trainable, images)
      self.assertAllClose(found, expected.astype(np.float32), rtol=1e-5)

  def test_predictions_are_without_the_offset(self):
    offset = np.array([0, 50, 0], np.float32)
    output = training_loop.cross_entropy(
      tf.constant(self.logits, tf.float32), _LABELS, offset=offset
    )
    losses_of_each = -special.log_softmax(self.logits + offset, axis=1)
    self.assertAllClose(
      output.loss, losses_of_each[_ROWS, _LABELS].mean(), rtol=1e-5
    )
    self.assertEqual(
      output.num_correct, np.sum(self.logits.argmax(-1) == _LABELS)
    )

  def test_gradient_is_that_of_the_mean_cross_entropy(self):
    gradient, output = gradient_steps.cross_entropy_gradient(
      self.classifier, self.weights, self.images, _LABELS, _SEED
    )
    probabilities = linear_reference.softmax(self.logits)
    # The gradient at logits is (probabilities - one-hot labels) / batch.
    errors = (probabilities - np.eye(3)[_LABELS]) / 5
    pixels = self.images.reshape(5, -1) / 255
    self.assertAllClose(gradient[0], pixels.T @ errors, rtol=1e-4, atol=1e-6)
    self.assertAllClose(gradient[1], errors.sum(0), rtol=1e-4, atol=1e-6)
    self.assertAllClose(
      output.loss, -np.log(probabilities[_ROWS, _LABELS]).mean(), rtol=1e-5
    )


if __name__ == '__main__':
  absltest.main()
