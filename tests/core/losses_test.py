# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of losses, and of their gradient for a batch."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.algorithms import supervised_fedavg
from tff_semifl.core import losses
from tff_semifl.core import training_loop
from tff_semifl.models import functional

_NUM_CLASSES = 5


def _random_batch(size):
  """Returns logits and two sets of labels."""
  generator = np.random.default_rng(size)
  return (
    generator.normal(scale=3, size=(size, _NUM_CLASSES)).astype(np.float32),
    generator.integers(_NUM_CLASSES, size=size).astype(np.int32),
    generator.integers(_NUM_CLASSES, size=size).astype(np.int32),
  )


def _cross_entropy(logits, labels):
  """Mean of -log(softmax), in float64."""
  exponentials = np.exp(logits.astype(np.float64))
  probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
  return -np.log(probabilities[np.arange(len(labels)), labels]).mean()


class CrossEntropyTest(parameterized.TestCase, tf.test.TestCase):
  def test_equals_numpy(self):
    logits, labels, _ = _random_batch(7)
    loss = losses.cross_entropy(logits, labels)
    self.assertEqual(loss.shape, [])
    self.assertAllClose(loss, _cross_entropy(logits, labels), rtol=1e-5)

  def test_huge_logits(self):
    logits = tf.constant([[1e4, 0.0], [0.0, 1e4]])
    # Right in both: -log(1). Wrong in both: -log(exp(-1e4)).
    self.assertAllClose(losses.cross_entropy(logits, tf.constant([0, 1])), 0)
    self.assertAllClose(losses.cross_entropy(logits, tf.constant([1, 0])), 1e4)

  def test_weights_multiply_the_loss_of_each(self):
    logits, labels, _ = _random_batch(3)
    expected = sum(
      weight * _cross_entropy(logits[i : i + 1], labels[i : i + 1]) / 3
      for i, weight in enumerate([2.0, 0.0, 0.5])
    )
    self.assertAllClose(
      losses.cross_entropy(logits, labels, tf.constant([2.0, 0.0, 0.5])),
      expected,
      rtol=1e-5,
    )
    self.assertAllClose(
      losses.mix_loss(
        logits, labels, labels, tf.constant(0.3), tf.constant([2.0, 0.0, 0.5])
      ),
      expected,
      rtol=1e-5,
    )

  def test_offset_is_added_to_the_logits(self):
    logits, labels, _ = _random_batch(3)
    offset = np.linspace(-1, 1, _NUM_CLASSES).astype(np.float32)
    expected = _cross_entropy(logits + offset, labels)
    self.assertAllClose(
      losses.cross_entropy(logits, labels, offset=offset), expected, rtol=1e-5
    )
    self.assertAllClose(
      losses.mix_loss(logits, labels, labels, tf.constant(0.3), offset=offset),
      expected,
      rtol=1e-5,
    )


class MaskedCrossEntropyTest(tf.test.TestCase):
  def test_is_divided_by_all_examples_and_not_by_those_that_count(self):
    logits, labels, _ = _random_batch(10)
    is_counted = np.arange(10) < 4
    self.assertAllClose(
      losses.masked_cross_entropy(logits, labels, is_counted),
      0.4 * _cross_entropy(logits[:4], labels[:4]),
      rtol=1e-5,
    )


class MixLossTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(0.0, 0.25, 1.0)
  def test_equals_numpy(self, coefficient):
    logits, first, second = _random_batch(10)
    loss = losses.mix_loss(logits, first, second, tf.constant(coefficient))
    self.assertEqual(loss.shape, [])
    # One coefficient for the whole batch multiplies both terms (A.8).
    self.assertAllClose(
      loss,
      coefficient * _cross_entropy(logits, first)
      + (1 - coefficient) * _cross_entropy(logits, second),
      rtol=1e-5,
    )


class ConsistencyTest(tf.test.TestCase):
  def test_is_the_mean_over_examples_and_classes(self):
    first = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    second = np.array([[0.5, 0.1, 0.4], [0.0, 0.3, 0.7]])
    # (0.16 + 0.16 + 0.09 + 0.09) / 6.
    self.assertAllClose(losses.consistency(first, second), 0.5 / 6)
    self.assertEqual(losses.consistency(first, first), 0)


class DivergenceTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    generator = np.random.default_rng(1)
    self._target, self._logits = generator.normal(size=(2, 6, 4))

  def test_equals_numpy(self):
    target, predicted = (
      np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
      for logits in (self._target, self._logits)
    )
    each = (target * np.log(target / predicted)).sum(axis=1)
    self.assertAllClose(
      losses.divergence(self._target, self._logits), each.mean()
    )
    # Images that are left out still count in the divisor.
    is_counted = np.arange(6) < 2
    self.assertAllClose(
      losses.divergence(self._target, self._logits, is_counted),
      each[:2].sum() / 6,
    )

  def test_has_the_gradient_of_the_cross_entropy_with_soft_labels(self):
    target, logits = tf.constant(self._target), tf.constant(self._logits)
    with tf.GradientTape(persistent=True) as tape:
      tape.watch([target, logits])
      divergence = losses.divergence(target, logits)
      cross_entropy = losses.cross_entropy(logits, tf.nn.softmax(target))
    self.assertAllClose(
      tape.gradient(divergence, logits), tape.gradient(cross_entropy, logits)
    )
    self.assertIsNone(tape.gradient(divergence, target))


_LABELS = np.array([0, 2, 1, 1, 0], np.int32)
_SEED = tf.constant([3, 4])


class BatchLossesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.classifier = linear_reference.create_classifier()
    trainable = self.classifier.initial_weights.trainable
    self.weights = functional.ModelWeights(
      tuple(tf.constant(array) for array in trainable), ()
    )
    self.images = linear_reference.create_images(len(_LABELS))
    self.logits = linear_reference.logits(trainable, self.images)

  def test_logits_of_uint8_and_float32_are_those_of_the_model(self):
    for images in (self.images, self.images.astype(np.float32)):
      self.assertAllClose(
        training_loop.train_logits(self.classifier, self.weights, images),
        self.logits.astype(np.float32),
        rtol=1e-5,
      )

  def test_dropout_follows_from_the_seed_and_labels_have_none(self):
    classifier = linear_reference.create_classifier(dropout_rate=0.5)
    dropped = linear_reference.drop(self.images, 0.5, _SEED)
    for images, found in (
      (
        dropped,
        training_loop.train_logits(
          classifier, self.weights, self.images, _SEED
        ),
      ),
      (
        self.images,
        classifier.batch_logits(self.weights, tf.cast(self.images, tf.float32)),
      ),
    ):
      expected = linear_reference.logits(self.weights.trainable, images)
      self.assertAllClose(found, expected.astype(np.float32), rtol=1e-5)

  def test_output_is_the_mean_loss_and_the_number_correct(self):
    weights = np.array([1, 0, 2, 1, 3], np.float32)
    # Predictions are without the offset, however large it is.
    offset = np.array([0, 50, 0], np.float32)
    output = training_loop.cross_entropy(
      tf.constant(self.logits, tf.float32), _LABELS, weights, offset=offset
    )
    probabilities = linear_reference.softmax(self.logits + offset)
    self.assertAllClose(
      output.loss,
      np.mean(-weights * np.log(probabilities[np.arange(5), _LABELS])),
      rtol=1e-5,
    )
    self.assertEqual(
      output.num_correct, np.sum(self.logits.argmax(-1) == _LABELS)
    )
    self.assertIsNone(output.num_examples)

  def test_gradient_is_that_of_the_mean_cross_entropy(self):
    gradient, output = training_loop.cross_entropy_gradient(
      self.classifier, self.weights, self.images, _LABELS, _SEED
    )
    probabilities = linear_reference.softmax(self.logits)
    # The gradient at logits is (probabilities - one-hot labels) / batch.
    errors = (probabilities - np.eye(3)[_LABELS]) / 5
    pixels = self.images.reshape(5, -1) / 255
    self.assertAllClose(gradient[0], pixels.T @ errors, rtol=1e-4, atol=1e-6)
    self.assertAllClose(gradient[1], errors.sum(0), rtol=1e-4, atol=1e-6)
    self.assertAllClose(
      output.loss,
      -np.log(probabilities[np.arange(5), _LABELS]).mean(),
      rtol=1e-5,
    )

  def test_logits_of_absent_classes_are_0_and_have_no_gradient(self):
    logits = tf.constant([[1.0, 2.0, 3.0, 4.0], [-5.0, -6.0, -7.0, -8.0]])
    # Labels of all images, not of the batch.
    labels = tf.constant([3, 1, 1, 3, 3])
    with tf.GradientTape() as tape:
      tape.watch(logits)
      masked = supervised_fedavg.mask_absent(logits, labels)
    self.assertAllEqual(masked, [[0, 2, 0, 4], [0, -6, 0, -8]])
    self.assertAllEqual(
      tape.gradient(masked, logits), np.tile([0, 1, 0, 1], [2, 1])
    )


if __name__ == '__main__':
  absltest.main()
