# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that models which return probabilities are refused."""

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import model_checks

_NUM_CLASSES = 3
layers = tf.keras.layers


@tf.keras.saving.register_keras_serializable('probabilities_test')
class _Own(layers.Layer):
  """A layer of an unregistered class."""

  def __init__(self, kind, **kwargs):
    super().__init__(**kwargs)
    self.kind = kind

  def call(self, inputs):
    return {
      'softmax': tf.nn.softmax,
      'identity': tf.identity,
      'temperature': lambda x: tf.nn.softmax(x / 2),
      'logarithm': tf.nn.log_softmax,
    }[self.kind](inputs)

  def get_config(self):
    return {**super().get_config(), 'kind': self.kind}


def _connect(*end, dense=None):
  """Returns a model with these layers, or functions, after a dense one."""
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

  @parameterized.named_parameters(
    ('temperature', lambda: _connect(_Own('temperature', name='own'))),
    (
      # The loss of images of level 255 is NaN.
      'careless',
      lambda: _connect(
        layers.Lambda(
          lambda x: tf.exp(x) / tf.reduce_sum(tf.exp(x), 1, True), name='own'
        ),
        dense=layers.Dense(_NUM_CLASSES, kernel_initializer='ones'),
      ),
    ),
    (
      'zero_weights',
      lambda: _connect(
        _Own('softmax', name='own'),
        dense=layers.Dense(_NUM_CLASSES, kernel_initializer='zeros'),
      ),
    ),
  )
  def test_what_only_outputs_tell(self, create):
    model = create()
    self.assertFalse(model_checks.check_structure(model))
    with self.assertRaisesRegex(
      ValueError, "ends in layer 'own' .*remove the softmax"
    ):
      functional.from_keras(model)

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


class AcceptedTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    ('dense', lambda: _connect(), True),
    (
      'softmax_inside',
      lambda: _connect(
        layers.Softmax(), layers.Dense(_NUM_CLASSES, name='last')
      ),
      True,
    ),
    ('own_log_softmax', lambda: _connect(_Own('logarithm')), False),
    ('relu', lambda: _connect(dense=_dense('relu')), False),
    (
      'scaled_softmax',
      lambda: _connect(layers.Softmax(), layers.Rescaling(20.0)),
      False,
    ),
  )
  @pytest.mark.slow
  def test_logits(self, create, is_certain):
    model = create()
    self.assertEqual(model_checks.check_structure(model), is_certain)
    classifier = functional.from_keras(model)
    self.assertEqual(classifier.num_classes, model.output_shape[1])

  @parameterized.product(
    value=[0.0, 1 / _NUM_CLASSES], end=[[], [_Own('identity')]]
  )
  def test_logits_that_happen_to_be_probabilities_at_first(self, value, end):
    """Such as those of weights that are all zero, or with a bias of 1 / K."""
    dense = layers.Dense(
      _NUM_CLASSES,
      kernel_initializer='zeros',
      bias_initializer=tf.keras.initializers.Constant(value),
    )
    model = _connect(*end, dense=dense)
    self.assertAllClose(
      model(tf.ones([2, 4, 4, 1])), tf.fill([2, _NUM_CLASSES], value)
    )
    functional.from_keras(model)


if __name__ == '__main__':
  absltest.main()
