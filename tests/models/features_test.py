# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of features, the inputs of the last layer of a model."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm


def _create_layers():
  return [
    tf.keras.Input([2, 2, 1]),
    tf.keras.layers.Flatten(),
    static_batch_norm.StaticBatchNormalization(),
    tf.keras.layers.Dense(3, activation='relu'),
    tf.keras.layers.Dense(5),
  ]


def _create_functional():
  inputs, *layers = _create_layers()
  outputs = inputs
  for layer in layers:
    outputs = layer(outputs)
  return tf.keras.Model(inputs, outputs)


class FeaturesTest(parameterized.TestCase):
  @parameterized.parameters(
    _create_functional, lambda: tf.keras.Sequential(_create_layers())
  )
  def test_last_layer_makes_logits_of_them(self, create):
    classifier = functional.from_keras(create())
    self.assertEqual(classifier.features.size, 3)
    generator = np.random.default_rng(0)
    images = generator.uniform(0, 255, size=(7, 2, 2, 1)).astype(np.float32)
    weights = classifier.initial_weights
    *_, kernel, bias = weights.trainable
    # In training mode: normalized by the batch; and in inference mode.
    for features, logits in (
      (classifier.features.train, classifier.train_logits),
      (classifier.features.batch, classifier.batch_logits),
      (classifier.features.infer, classifier.logits),
    ):
      found = features(weights, images)
      self.assertEqual(found.shape, [7, 3])
      np.testing.assert_allclose(
        found @ kernel + bias, logits(weights, images), rtol=1e-5
      )

  def test_gradient_goes_to_the_weights_before_the_last(self):
    classifier = functional.from_keras(_create_functional())
    trainable = [tf.constant(w) for w in classifier.initial_weights.trainable]
    images = np.random.default_rng(0).uniform(0, 255, [7, 2, 2, 1])
    with tf.GradientTape() as tape:
      tape.watch(trainable)
      features = classifier.features.train(
        classifier.initial_weights._replace(trainable=trainable),
        images.astype(np.float32),
      )
    gradients = tape.gradient(features, trainable, unconnected_gradients='zero')
    moved = [bool(np.any(gradient != 0)) for gradient in gradients]
    # Gamma and beta, kernel and bias, and those of the last layer.
    self.assertEqual(moved, [True] * 4 + [False] * 2)

  def test_a_model_whose_last_layer_is_not_dense_has_none(self):
    model = tf.keras.Sequential(
      [
        tf.keras.Input([2, 2, 1]),
        tf.keras.layers.Conv2D(3, 2),
        tf.keras.layers.Flatten(),
      ]
    )
    self.assertIsNone(functional.from_keras(model).features)


if __name__ == '__main__':
  absltest.main()
