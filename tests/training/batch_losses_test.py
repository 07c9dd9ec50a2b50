# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of logits of a batch, their cross-entropy and its gradient."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.models import functional
from tff_semifl.training import batch_losses

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
        batch_losses.train_logits(self.classifier, self.weights, images),
        self.logits.astype(np.float32),
        rtol=1e-5,
      )

  def test_dropout_follows_from_the_seed_and_labels_have_none(self):
    classifier = linear_reference.create_classifier(dropout_rate=0.5)
    dropped = linear_reference.drop(self.images, 0.5, _SEED)
    for images, found in (
      (
        dropped,
        batch_losses.train_logits(classifier, self.weights, self.images, _SEED),
      ),
      (
        self.images,
        batch_losses.label_logits(classifier, self.weights, self.images),
      ),
    ):
      expected = linear_reference.logits(self.weights.trainable, images)
      self.assertAllClose(found, expected.astype(np.float32), rtol=1e-5)

  def test_output_is_the_mean_loss_and_the_number_correct(self):
    weights = np.array([1, 0, 2, 1, 3], np.float32)
    # Predictions are without the offset, however large it is.
    offset = np.array([0, 50, 0], np.float32)
    output = batch_losses.cross_entropy(
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
    gradient, output = batch_losses.cross_entropy_gradient(
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
      masked = batch_losses.mask_absent(logits, labels)
    self.assertAllEqual(masked, [[0, 2, 0, 4], [0, -6, 0, -8]])
    self.assertAllEqual(
      tape.gradient(masked, logits), np.tile([0, 1, 0, 1], [2, 1])
    )


if __name__ == '__main__':
  absltest.main()
