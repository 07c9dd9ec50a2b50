# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of batch normalization without running averages, against NumPy."""

import contextlib

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import padded_batches
from tff_semifl.models import static_batch_norm

_EPSILON = 1e-5  # PyTorch's.
_CHANNELS = 4


def _random_inputs(scale=1.0, shape=(5, 3, 2)):
  generator = np.random.default_rng(0)
  # Each channel has another mean and spread.
  return (
    generator.normal(size=(*shape, _CHANNELS)) * np.array([1, 2, 0.5, 3])
    + np.array([0, -1, 5, 2])
  ).astype(np.float32) * np.float32(scale)


def _create_layer():
  """A layer with changed weights."""
  layer = static_batch_norm.StaticBatchNormalization()
  layer(_random_inputs())  # Creates the weights.
  layer.gamma.assign([1.0, 2.0, 0.5, -1.0])
  layer.beta.assign([0.0, 1.0, -2.0, 3.0])
  layer.mean.assign([0.5, -1.0, 4.0, 0.0])
  layer.variance.assign([1.0, 3.0, 0.2, 9.0])
  return layer


def _normalize(inputs, layer, mean, variance):
  inputs = inputs.astype(np.float64)
  normalized = (inputs - mean) / np.sqrt(variance + _EPSILON)
  return normalized * layer.gamma.numpy() + layer.beta.numpy()


class StaticBatchNormalizationTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(1.0, 1e-3)
  def test_training_uses_the_statistics_of_the_batch(self, scale):
    """Biased variance with epsilon 1e-5, which matters for small inputs."""
    layer = _create_layer()
    inputs = _random_inputs(scale)
    rows = inputs.reshape(-1, _CHANNELS).astype(np.float64)
    expected = _normalize(inputs, layer, rows.mean(axis=0), rows.var(axis=0))
    # TensorFlow raises epsilon to 1.001e-5, a change of at most 0.05%.
    outputs = layer(inputs, training=True)
    self.assertAllClose(outputs, expected, rtol=1e-3, atol=1e-3)

  def test_inference_uses_the_given_statistics(self):
    layer = _create_layer()
    inputs = _random_inputs()
    expected = _normalize(
      inputs, layer, layer.mean.numpy(), layer.variance.numpy()
    )
    self.assertAllClose(layer(inputs, training=False), expected, rtol=1e-4)

  @parameterized.parameters((5, 3, 2), (5,))
  def test_padding_is_in_no_statistic_and_has_no_gradient(self, *shape):
    layer = _create_layer()
    inputs = _random_inputs(shape=shape)
    target = np.random.default_rng(1).normal(size=inputs.shape)

    def compute(inputs, num_real, padding):
      values = tf.constant(inputs)
      with tf.GradientTape() as tape, padding:
        tape.watch(values)
        outputs = layer(values, training=True)[:num_real]
        loss = tf.reduce_sum(outputs * target[:num_real].astype(np.float32))
      sources = [values, layer.gamma, layer.beta]
      return outputs, tape.gradient(loss, sources)

    expected, gradients = compute(inputs[:3], 3, contextlib.nullcontext())
    found, others = compute(
      inputs, 3, static_batch_norm.with_padding(tf.constant(3))
    )
    self.assertAllClose(found, expected, rtol=1e-4, atol=1e-4)
    self.assertAllClose(others[0][:3], gradients[0], rtol=1e-3, atol=1e-3)
    self.assertAllEqual(others[0][3:], np.zeros_like(inputs[3:]))
    self.assertAllClose(others[1:], gradients[1:], rtol=1e-3, atol=1e-3)


def _moments(inputs):
  with static_batch_norm.collecting_moments() as collected:
    _create_layer()(inputs, training=True)
  [(_, moments)] = collected
  return moments


class MomentsTest(tf.test.TestCase):
  def test_equal_numpy(self):
    inputs = _random_inputs()
    rows = inputs.reshape(-1, _CHANNELS).astype(np.float64)
    count, mean, squares = _moments(inputs)
    # 5 images of 3 x 2 pixels.
    self.assertAllEqual(count, [30.0] * _CHANNELS)
    self.assertAllClose(mean, rows.mean(axis=0), rtol=1e-5, atol=1e-5)
    self.assertAllClose(
      squares, np.sum((rows - rows.mean(axis=0)) ** 2, axis=0), rtol=1e-4
    )


class OptionsTest(parameterized.TestCase, tf.test.TestCase):
  def test_frozen_layer_uses_the_given_statistics(self):
    layer = _create_layer()
    layer.trainable = False
    inputs = _random_inputs()
    self.assertAllEqual(
      layer(inputs, training=True), layer(inputs, training=False)
    )

  @parameterized.product(
    training=(False, True), options=((False, True), (True, False))
  )
  def test_equals_keras(self, training, options):
    center, scale = options
    # Rank 2, as after a dense layer.
    options = {'center': center, 'scale': scale, 'epsilon': 0.25}
    keras = tf.keras.layers.BatchNormalization(**options)
    layer = static_batch_norm.StaticBatchNormalization(**options)
    inputs = _random_inputs()[:, 0, 0]
    keras(inputs), layer(inputs)  # Creates the weights.
    generator = np.random.default_rng(2)
    values = [generator.uniform(0.5, 2, _CHANNELS) for _ in keras.weights]
    keras.set_weights(values)
    layer.set_weights(values)
    self.assertAllClose(
      layer(inputs, training=training),
      keras(inputs, training=training),
      rtol=1e-4,
      atol=1e-4,
    )
    copy = static_batch_norm.StaticBatchNormalization.from_config(
      layer.get_config()
    )
    self.assertEqual(copy.get_config(), layer.get_config())


_WEIGHTED_EPSILON = 1e-3


def _draw(*shape):
  """Draws inputs, weights of rows, gamma, beta and a gradient of outputs."""
  generator = np.random.default_rng(0)
  inputs = generator.normal(2, 3, size=shape)
  weight = generator.uniform(size=(shape[0], *[1] * (len(shape) - 1)))
  # Rows of weight zero are normalized, too.
  weight[-1] = 0
  weight /= weight.sum() * np.prod(shape[1:-1])
  gamma, beta = generator.normal(size=(2, shape[-1]))
  upstream = generator.normal(size=shape)
  return [
    tf.constant(each, tf.float32)
    for each in (inputs, weight, gamma, beta, upstream)
  ]


def _differentiate(inputs, weight, gamma, beta, upstream):
  sources = [inputs, gamma, beta]
  with tf.GradientTape() as tape:
    tape.watch(sources)
    outputs = padded_batches.normalize(
      inputs, weight, gamma, beta, _WEIGHTED_EPSILON
    )
  return tape.gradient(outputs, sources, upstream)


class NormalizeTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters((5, 3, 2, 4), (6, 3))
  def test_gradient_equals_that_of_its_operations(self, *shape):
    arguments = _draw(*shape)
    # By TensorFlow's rules for code outside of graphs.
    expected = _differentiate(*arguments)

    @tf.function
    def normalize(inputs, weight, gamma, beta):
      return padded_batches.normalize(
        inputs, weight, gamma, beta, _WEIGHTED_EPSILON
      )

    *values, upstream = arguments
    traced = normalize.get_concrete_function(*values)
    with tf.GradientTape() as tape:
      tape.watch(values)
      outputs = traced(*values)
    found = tape.gradient(outputs, [values[0], *values[2:]], upstream)
    within = tf.function(_differentiate)(*arguments)
    for each in (found, within):
      self.assertAllClose(each, expected, rtol=1e-4, atol=1e-5)
