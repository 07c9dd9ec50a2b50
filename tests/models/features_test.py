# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of features, the inputs of the last layer, and of the linear model."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import features
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
    # In training mode, normalized by the batch; and in inference mode.
    for function, logits in (
      (classifier.features.train, classifier.train_logits),
      (classifier.features.batch, classifier.batch_logits),
      (classifier.features.infer, classifier.logits),
    ):
      found = function(weights, images)
      self.assertEqual(found.shape, [7, 3])
      np.testing.assert_allclose(
        found @ kernel + bias, logits(weights, images), rtol=1e-5
      )


class CreateLinearTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(((5,), 5), ((4, 3, 2), 2))
  def test_is_affine_in_standardized_inputs(self, shape, num_scales):
    generator = np.random.default_rng(0)
    mean = generator.normal(size=num_scales)
    deviation = generator.uniform(1, 9, num_scales)
    model = features.create_linear(
      shape, 3, mean=mean.tolist(), standard_deviation=deviation.tolist()
    )
    inputs = generator.normal(size=(6, *shape)).astype(np.float32)
    # Initial logits are equal for all classes.
    self.assertAllEqual(model(inputs), np.zeros((6, 3)))
    size = int(np.prod(shape))
    self.assertEqual(model.count_params(), (size + 1) * 3)
    kernel, bias = generator.normal(size=(size, 3)), generator.normal(size=3)
    model.set_weights([kernel, bias])
    flat = ((inputs - mean) / deviation).reshape(6, -1)
    self.assertAllClose(model(inputs), flat @ kernel + bias, atol=1e-4)

    classifier = functional.from_keras(model)
    self.assertEqual(classifier.image_shape, shape)
    self.assertAllClose(
      classifier.logits(classifier.initial_weights, inputs), model(inputs)
    )
