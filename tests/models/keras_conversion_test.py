# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that converted Keras models compute the same results."""

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import functional
from tff_semifl.models import keras_conversion
from tff_semifl.models import keyed_dropout
from tff_semifl.models import static_batch_norm
from tff_semifl.models import zhang2020_networks

_SHAPE = (6, 6, 3)
_IMAGES = np.random.default_rng(0).uniform(0, 255, (5, *_SHAPE)).astype('f')
_BRIGHT = 100.0


class _HalfOfBright(tf.keras.layers.Layer):
  def call(self, images):
    if tf.reduce_max(images) > _BRIGHT:
      images *= 0.5
    return images


def _create_backbone():
  """A model with all layers that are converted, with its own statistics."""
  layers = tf.keras.layers
  inputs = tf.keras.Input(_SHAPE)
  normalization = layers.Normalization()
  normalization.adapt(_IMAGES)
  x = layers.Conv2D(8, 3)(normalization(inputs))
  x = layers.BatchNormalization(epsilon=0.01, scale=False)(x)
  x = layers.SpatialDropout2D(0.2)(x)
  x = layers.ReLU()(x) * 2.0 + 1.0
  x = layers.Dropout(0.3, noise_shape=(None, 1, 1, 1))(x)
  x = layers.Dense(6)(layers.GlobalAveragePooling2D()(x))
  x = layers.Dropout(0.5)(layers.BatchNormalization()(x))
  model = tf.keras.Model(inputs, x, name='backbone')
  generator = np.random.default_rng(1)
  for weight in model.weights:
    if weight.dtype == tf.float32 and weight.name.startswith('batch_'):
      weight.assign(generator.uniform(0.5, 2, weight.shape))
  return model


def _create_model(backbone=None, **call):
  """A classifier that contains a model."""
  inputs = tf.keras.Input(_SHAPE)
  x = (backbone or _create_backbone())(inputs, **call)
  return tf.keras.Model(inputs, tf.keras.layers.Dense(4)(x))


def _connect(*layers, shape=_SHAPE):
  return tf.keras.Sequential(
    [
      tf.keras.Input(shape),
      *layers,
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(4),
    ]
  )


class ConvertTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    tf.keras.utils.set_random_seed(0)
    cls._model = _create_model()
    cls._classifier = functional.from_keras(cls._model)
    # Before calls in training mode, which change Keras's moving averages.
    cls._inference = cls._model(_IMAGES)
    # The classifier's dropout is a copy, because Keras's draws cannot be
    # repeated.
    for layer in keras_conversion.inner_layers(cls._model):
      if isinstance(layer, tf.keras.layers.Dropout):
        layer.rate = 0

  def test_same_function_in_inference_and_training(self):
    weights = self._classifier.initial_weights
    for logits, expected in (
      (self._classifier.logits, self._inference),
      (self._classifier.batch_logits, self._model(_IMAGES, training=True)),
    ):
      self.assertAllClose(logits(weights, _IMAGES), expected, rtol=1e-3)

  def test_dropout_drops_as_it_did(self):
    def logits(seed):
      return self._classifier.train_logits(
        self._classifier.initial_weights, _IMAGES, seed
      )

    self.assertAllEqual(logits([1, 2]), logits([1, 2]))
    self.assertNotAllClose(logits([1, 2]), logits([1, 3]))
    with self.assertRaisesRegex(ValueError, 'has dropout.* needs a seed'):
      logits(None)
    found = {
      layer.key: (layer.rate, layer.noise_shape)
      for layer in keras_conversion.inner_layers(
        keras_conversion.convert(_create_model())
      )
      if isinstance(layer, keyed_dropout.KeyedDropout)
    }
    self.assertCountEqual(
      found.values(),
      [(0.2, (None, 1, 1, None)), (0.3, (None, 1, 1, 1)), (0.5, None)],
    )
    self.assertLen(found, 3)

  def test_gradients_are_those_of_keras(self):
    weights = tf.nest.map_structure(
      tf.constant, self._classifier.initial_weights
    )
    with tf.GradientTape() as tape:
      tape.watch(weights.trainable)
      logits = self._classifier.batch_logits(weights, _IMAGES)
      loss = tf.reduce_sum(tf.nn.softmax(logits)[:, 0])
    found = tape.gradient(loss, weights.trainable)
    with tf.GradientTape() as tape:
      logits = self._model(_IMAGES, training=True)
      loss = tf.reduce_sum(tf.nn.softmax(logits)[:, 0])
    expected = tape.gradient(loss, self._model.trainable_weights)
    for each, gradient in zip(found, expected, strict=True):
      self.assertAllClose(each, gradient, rtol=1e-2, atol=1e-4)

  def test_layer_with_an_if_on_a_tensor(self):
    layers = tf.keras.layers
    model = _connect(
      _HalfOfBright(),
      layers.Conv2D(3, 3),
      layers.BatchNormalization(),
      layers.Flatten(),
      layers.Dense(4),
    )
    classifier = functional.from_keras(model)
    dark = _IMAGES / _IMAGES.max() * _BRIGHT
    bright = dark * 2
    for images in (dark, bright):
      self.assertAllClose(
        classifier.logits(classifier.initial_weights, images),
        model(images),
        rtol=1e-3,
      )
    self.assertAllClose(
      classifier.train_logits(classifier.initial_weights, bright),
      # Dark images are half as bright.
      model(dark, training=True),
      rtol=1e-3,
      atol=1e-4,
    )


class GroupNormTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    # Zhang et al. have 32 groups in every layer.
    (512, 32),
    # If 32 does not divide the channels, the next smaller divisor.
    (48, 24),
    (16, 16),
  )
  def test_groups(self, num_channels, num_groups):
    x = np.random.default_rng(0).normal(3, 2, size=(2, 4, 4, num_channels))
    layer = tf.keras.layers.BatchNormalization()
    layer.build(x.shape)
    layer = zhang2020_networks.to_group_norm(layer)
    self.assertAllClose(
      layer(x.astype(np.float32)),
      residual_reference.normalize_groups(x, num_groups),
      atol=1e-4,
    )

  def test_epsilon_is_not_that_of_keras(self):
    # The variance is 1e-4: divided by sqrt(1e-4 + 1e-5), or with Keras's
    # epsilon of 1e-3 by sqrt(1e-4 + 1e-3), which is three times as much.
    x = np.array([-0.01, 0.01], np.float32).reshape(1, 1, 2, 1)
    layer = static_batch_norm.StaticBatchNormalization()
    layer.build(tf.TensorShape(x.shape))
    self.assertAllClose(
      zhang2020_networks.to_group_norm(layer)(x),
      x / np.sqrt(1e-4 + 1e-5),
      rtol=1e-3,
    )


class FrozenTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    tf.keras.utils.set_random_seed(0)

  def test_only_the_rest_is_sent(self):
    backbone = _create_backbone()
    backbone.trainable = False
    model = _create_model(backbone, training=False)
    classifier = functional.from_keras(model)
    self.assertEqual(
      str(classifier.weights_type),
      '<trainable=<float32[6,4],float32[4]>,non_trainable=<>>',
    )
    self.assertIsNone(classifier.batch_moments)
    # Inference mode draws no numbers, and needs no seed.
    for logits in (classifier.logits, classifier.train_logits):
      self.assertAllClose(
        logits(classifier.initial_weights, _IMAGES), model(_IMAGES), rtol=1e-4
      )

  @pytest.mark.slow
  def test_frozen_layers_among_others(self):
    backbone = _create_backbone()
    backbone.layers[2].trainable = False  # The convolution.
    backbone.layers[3].trainable = False  # Its normalization.
    model = _create_model(backbone)
    converted = keras_conversion.convert(model)
    kinds = functional.find_weights(converted)
    # Kernel, bias, beta, mean and variance.
    self.assertLen(kinds.frozen, 5)
    self.assertLen(kinds.statistics, 2)
    self.assertLen(kinds.trainable, 2 + 2 + 2)
    classifier = functional.from_keras(converted)
    self.assertLen(
      classifier.batch_moments(classifier.initial_weights, _IMAGES), 1
    )
    for found, weight in zip(
      classifier.variables.frozen, kinds.frozen, strict=True
    ):
      self.assertIs(found, weight)

  def test_statistics_of_a_part_in_inference_mode_are_frozen(self):
    """Tests fine-tuning as in Keras' guide, with pretrained statistics."""
    classifier = functional.from_keras(_create_model(training=False))
    self.assertEmpty(classifier.initial_weights.non_trainable)
    self.assertIsNone(classifier.batch_moments)
    # Convolution 2, beta, dense 2, gamma and beta, dense 2.
    self.assertLen(classifier.initial_weights.trainable, 2 + 1 + 2 + 2 + 2)

  def test_frozen_normalization_does_not_become_another(self):
    layer = tf.keras.layers.BatchNormalization(trainable=False)
    layer.build([None, 8])
    self.assertIsInstance(
      zhang2020_networks.to_group_norm(layer),
      static_batch_norm.StaticBatchNormalization,
    )

  def test_model_that_is_frozen_as_a_whole(self):
    model = _connect()
    model.trainable = False
    with self.assertRaisesRegex(ValueError, 'has no weights to train'):
      functional.from_keras(model)
