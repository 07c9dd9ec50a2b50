# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that the pure functions of a model equal the Keras model."""

import math

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm
from tff_semifl.models import wide_resnet

_IMAGE_SHAPE = (8, 8, 3)
_NUM_CLASSES = 5


def _create_keras_model():
  """A small network with a projection and its own statistics."""
  model = wide_resnet.create_wide_resnet(
    _IMAGE_SHAPE,
    _NUM_CLASSES,
    depth=7,
    width=1,
    num_groups=2,
    pixel_mean=(0.4, 0.5, 0.6),
    pixel_standard_deviation=(0.2, 0.3, 0.4),
  )
  generator = np.random.default_rng(1)
  for weight in model.non_trainable_weights:
    weight.assign(generator.uniform(0.5, 2, size=weight.shape))
  return model


def _random_images(num_images):
  generator = np.random.default_rng(num_images)
  return generator.uniform(0, 255, size=(num_images, *_IMAGE_SHAPE)).astype(
    np.float32
  )


def _random_weights(classifier):
  """Random weights, positive because variances are."""
  generator = np.random.default_rng(2)
  return tf.nest.map_structure(
    lambda w: generator.uniform(0.1, 0.5, size=w.shape).astype(np.float32),
    classifier.initial_weights,
  )


class FromKerasTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._model = _create_keras_model()
    cls._classifier = functional.from_keras(cls._model)

  def _call_keras(self, function, weights):
    """Calls a function while the Keras model has other weights."""
    variables = [
      *self._model.trainable_weights,
      *self._model.non_trainable_weights,
    ]
    before = [variable.numpy() for variable in variables]
    values = [*weights.trainable, *weights.non_trainable]
    try:
      for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
      return function(self._model)
    finally:
      for variable, value in zip(variables, before, strict=True):
        variable.assign(value)

  def test_logits_of_other_weights(self):
    images = _random_images(4)
    weights = _random_weights(self._classifier)
    for function, training in (
      (self._classifier.train_logits, True),
      (self._classifier.logits, False),
    ):
      expected = self._call_keras(
        lambda model, training=training: model(images, training=training),
        weights,
      )
      self.assertAllClose(
        function(weights, images), expected, rtol=1e-3, atol=1e-3
      )

  def test_batch_moments_are_those_of_the_model(self):
    images = _random_images(4)
    found = self._classifier.batch_moments(
      self._classifier.initial_weights, images
    )
    with static_batch_norm.collecting_moments() as collected:
      self._model(images, training=True)
    expected = {layer.mean.ref(): moments for layer, moments in collected}
    # In the order of the weights: means and variances alternate.
    means = self._model.non_trainable_weights[::2]
    for each, mean in zip(found, means, strict=True):
      self.assertAllClose(each, expected[mean.ref()], rtol=1e-3, atol=1e-3)


def _connect(*layers):
  """A sequence of image layers, with a classifier."""
  inputs = x = tf.keras.Input(_IMAGE_SHAPE)
  for layer in layers:
    x = layer(x)
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  return tf.keras.Model(inputs, tf.keras.layers.Dense(_NUM_CLASSES)(x))


class _Scale(tf.keras.layers.Layer):
  """A layer that creates tensors in its constructor and in `build`."""

  def __init__(self):
    super().__init__()
    self._small = tf.constant([2.0] * _IMAGE_SHAPE[-1])

  def get_config(self):
    return {}

  def build(self, input_shape):
    self._weight = self.add_weight('weight', [input_shape[-1]])
    self._large = _create_tensor()

  def call(self, inputs):
    return inputs * self._small * self._weight * self._large


def _create_tensor():
  """A tensor too large for TensorFlow to copy into graphs."""
  values = tf.linspace(0.5, 1.5, math.prod(_IMAGE_SHAPE))
  return tf.reshape(values, _IMAGE_SHAPE)


class OtherModelsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    tf.keras.utils.set_random_seed(0)

  def test_layer_that_holds_tensors(self):
    outside = _create_tensor()
    model = _connect(_Scale(), tf.keras.layers.Lambda(lambda x: x * outside))
    classifier = functional.from_keras(model)
    images = _random_images(2)
    compute = tff.tensorflow.computation(
      lambda weights: classifier.logits(weights, images),
      classifier.weights_type,
    )
    with runtime.simulation_context():
      found = compute(classifier.initial_weights)
    self.assertAllClose(found, model(images), rtol=1e-4)

  def test_layers_that_share_weights_are_refused(self):
    first, second = tf.keras.layers.Conv2D(3, 1), tf.keras.layers.Conv2D(3, 1)
    first.build([None, *_IMAGE_SHAPE])
    second.build([None, *_IMAGE_SHAPE])
    second.kernel = first.kernel
    with self.assertRaisesRegex(ValueError, 'must not share weights'):
      functional.from_keras(_connect(first, second))
