# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of rejected models: probabilities as outputs, and impure layers."""

from absl.testing import parameterized
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import keras_conversion

_NUM_CLASSES = 3
layers = tf.keras.layers


def _connect(*end, dense=None):
  """A model with these layers, or functions, after a dense layer."""
  inputs = tf.keras.Input([4, 4, 1])
  outputs = layers.Flatten()(inputs)
  outputs = (dense or layers.Dense(_NUM_CLASSES, name='dense'))(outputs)
  for each in end:
    outputs = each(outputs)
  return tf.keras.Model(inputs, outputs, name='mine')


def _dense(activation):
  return layers.Dense(_NUM_CLASSES, activation=activation, name='dense')


def _nested(*inner):
  return tf.keras.Sequential([tf.keras.Input([_NUM_CLASSES]), *inner])


class RefusedTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('activation_of_dense', lambda: _connect(dense=_dense('softmax'))),
    (
      'in_float32_at_the_end',
      lambda: _connect(
        layers.Softmax(name='end'),
        layers.Dropout(0.5),
        layers.Reshape([_NUM_CLASSES]),
        layers.Activation('linear', dtype='float32'),
      ),
    ),
    ('operation', lambda: _connect(tf.nn.softmax), 'tf.nn.softmax'),
    ('lambda', lambda: _connect(layers.Lambda(tf.nn.softmax, name='end'))),
    ('nested_twice', lambda: _connect(_nested(_nested(_dense('softmax'))))),
  )
  def test_softmax(self, create, layer='(dense|end)'):
    with self.assertRaisesRegex(
      ValueError,
      f"^Model 'mine' ends in layer '{layer}' .*, whose outputs are"
      ' probabilities; remove the softmax so that the model returns logits',
    ):
      functional.from_keras(create())

  @parameterized.named_parameters(
    ('hard', lambda: _connect(dense=_dense('hard_sigmoid'))),
    ('operation', lambda: _connect(tf.math.sigmoid)),
  )
  def test_sigmoid(self, create):
    with self.assertRaisesRegex(
      ValueError, 'whose outputs are probabilities; remove the .*sigmoid so'
    ):
      functional.from_keras(create())

  @parameterized.parameters(
    (layers.Dense(1), r'\[None, 1\]'),
    (layers.Dense(1, activation='sigmoid'), r'\[None, 1\]'),
    (layers.Reshape([4, 4]), r'\[None, 4, 4\]'),
  )
  def test_no_value_for_each_of_several_classes(self, dense, shape):
    with self.assertRaisesRegex(
      ValueError, f"Model 'mine' must return .batch, classes.*{shape}"
    ):
      functional.from_keras(_connect(dense=dense))


_SHAPE = (6, 6, 3)


def _connect_layers(*layers, shape=_SHAPE):
  return tf.keras.Sequential(
    [
      tf.keras.Input(shape),
      *layers,
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(4),
    ]
  )


class _WithInner(tf.keras.layers.Layer):
  """A layer that contains another layer."""

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
  """A layer with its own weight."""

  def build(self, input_shape):
    self.count = self.add_weight('count', (), trainable=False)

  def call(self, inputs):
    return inputs + self.count


class _Subclassed(tf.keras.Model):
  """A model with its own call method."""

  def call(self, inputs):
    return inputs


class RefusedLayersTest(parameterized.TestCase, tf.test.TestCase):
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
      r"'it' \(BatchNormalization\) must have channels in",
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
      functional.from_keras(_connect_layers(create()))

  def test_layer_that_does_not_tell_its_settings(self):
    model = _connect_layers(
      _Forgetful(2.0, name='it'), tf.keras.layers.BatchNormalization()
    )
    with self.assertRaisesRegex(
      keras_conversion.LayerError, r"'it' \(_Forgetful\) cannot be made again"
    ):
      functional.from_keras(model)

  def test_dropout_of_rate_0_inside_a_layer_is_taken(self):
    layer = _WithInner(tf.keras.layers.Dropout(0.0))
    functional.from_keras(_connect_layers(layer))

  def test_normalization_that_is_used_twice(self):
    layer = tf.keras.layers.BatchNormalization(name='it')
    with self.assertRaisesRegex(
      keras_conversion.LayerError, "'it' .* in several places"
    ):
      inputs = tf.keras.Input(_SHAPE)
      x = tf.keras.layers.Flatten()(layer(layer(inputs)))
      functional.from_keras(tf.keras.Model(inputs, tf.keras.layers.Dense(4)(x)))
