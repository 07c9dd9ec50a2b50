# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of which Keras layers are converted or refused."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import keras_conversion

_SHAPE = (6, 6, 3)
_IMAGES = np.random.default_rng(0).uniform(0, 255, (5, *_SHAPE)).astype('f')


def _connect(*layers, shape=_SHAPE):
  return tf.keras.Sequential(
    [
      tf.keras.Input(shape),
      *layers,
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(4),
    ]
  )


class _WithInner(tf.keras.layers.Layer):
  """A layer with another inside."""

  def __init__(self, inner, **kwargs):
    super().__init__(**kwargs)
    self.inner = inner

  def call(self, inputs):
    return self.inner(inputs)

  def get_config(self):
    return {**super().get_config(), 'inner': self.inner}


class _Scale(tf.keras.layers.Layer):
  """A layer whose arguments Keras finds by itself."""

  def __init__(self, factor, **kwargs):
    super().__init__(**kwargs)
    self.factor = factor

  def call(self, inputs):
    return inputs * self.factor


class _Forgetful(_Scale):
  """A layer whose configuration lacks an argument."""

  def get_config(self):
    return {'name': self.name}


class _Counting(tf.keras.layers.Layer):
  """A layer with a weight of its own."""

  def build(self, input_shape):
    self.count = self.add_weight('count', (), trainable=False)

  def call(self, inputs):
    return inputs + self.count


class _Subclassed(tf.keras.Model):
  """A model with a call method of its own."""

  def call(self, inputs):
    return inputs


class RefusedTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    (
      'noise',
      lambda: tf.keras.layers.GaussianNoise(0.1, name='it'),
      r"'it' \(GaussianNoise\) draws random",
    ),
    (
      'augmentation',
      lambda: tf.keras.layers.RandomFlip(name='it'),
      r"'it' \(RandomFlip\) draws random numbers.*",
    ),
    (
      'dropout_inside',
      lambda: _WithInner(tf.keras.layers.Dropout(0.1, name='d'), name='it'),
      r"'it' \(_WithInner\) has 'd' \(Dropout\)",
    ),
    (
      'batch_normalization_inside',
      lambda: _WithInner(
        tf.keras.layers.BatchNormalization(name='b'), name='it'
      ),
      r"'it' \(_WithInner\) has 'b'",
    ),
    (
      'channels_first',
      lambda: tf.keras.layers.BatchNormalization(axis=1, name='it'),
      r"'it' \(BatchNormalization\) normalizes along",
    ),
    (
      'own_weight',
      lambda: _Counting(name='it'),
      r"'it' \(_Counting\) has weights that are not",
    ),
    (
      'regularizer',
      lambda: tf.keras.layers.Conv2D(2, 1, kernel_regularizer='l2', name='it'),
      r"'it' \(Conv2D\) has a regularizer.* Remove",
    ),
    (
      'subclassed_model',
      lambda: _Subclassed(name='it'),
      r"'it' \(_Subclassed\) is a model without a",
    ),
  )
  def test_layer(self, create, message):
    with self.assertRaisesRegex(keras_conversion.LayerError, message):
      functional.from_keras(_connect(create()))

  def test_layer_that_does_not_tell_its_settings(self):
    model = _connect(
      _Forgetful(2.0, name='it'), tf.keras.layers.BatchNormalization()
    )
    with self.assertRaisesRegex(
      keras_conversion.LayerError, r"'it' \(_Forgetful\) cannot be made again"
    ):
      functional.from_keras(model)

  def test_layer_that_holds_a_variable_of_nobody(self):
    held = tf.Variable(2.0)
    layer = tf.keras.layers.Lambda(lambda x: x * held)
    with self.assertRaisesRegex(ValueError, 'a variable that is no weight of'):
      functional.from_keras(_connect(layer))

  def test_own_layer_is_taken(self):
    model = _connect(_Scale(2.0))
    classifier = functional.from_keras(model)
    self.assertAllClose(
      classifier.logits(classifier.initial_weights, _IMAGES), model(_IMAGES)
    )

  def test_normalization_that_is_used_twice(self):
    layer = tf.keras.layers.BatchNormalization(name='it')
    with self.assertRaisesRegex(
      keras_conversion.LayerError, "'it' .* in several places"
    ):
      inputs = tf.keras.Input(_SHAPE)
      x = tf.keras.layers.Flatten()(layer(layer(inputs)))
      functional.from_keras(tf.keras.Model(inputs, tf.keras.layers.Dense(4)(x)))

  def test_images_of_any_size(self):
    inputs = tf.keras.Input((None, None, 3))
    x = tf.keras.layers.GlobalAveragePooling2D()(inputs)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(4)(x))
    with self.assertRaisesRegex(ValueError, 'must take one batch of images'):
      functional.from_keras(model)

  def test_attention_without_dropout_is_taken(self):
    """Dropout of rate 0 draws no random numbers."""
    inputs = tf.keras.Input(_SHAPE)
    x = tf.keras.layers.Reshape((36, 3))(inputs)
    x = tf.keras.layers.MultiHeadAttention(2, 4)(x, x)
    x = tf.keras.layers.Flatten()(x)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(4)(x))
    classifier = functional.from_keras(model)
    self.assertAllClose(
      classifier.train_logits(classifier.initial_weights, _IMAGES),
      model(_IMAGES),
      rtol=1e-3,
      atol=1e-2,
    )


if __name__ == '__main__':
  absltest.main()
