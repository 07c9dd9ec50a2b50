# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Refuses Keras models that are not pure functions of weights and images."""

import tensorflow as tf

from tff_semifl.models import keras_conversion
from tff_semifl.models import keyed_dropout
from tff_semifl.models import static_batch_norm

_RANDOM = tf.keras.__internal__.layers.BaseRandomLayer


def check(model: tf.keras.Model) -> None:
  """Checks that a converted model takes images, is pure, and returns logits."""
  if len(model.inputs) != 1 or None in model.input_shape[1:]:
    raise ValueError(
      f'Model {model.name!r} must take one batch of images of a fixed size,'
      f' found {[each.shape.as_list() for each in model.inputs]}.'
    )
  for layer in keras_conversion.inner_layers(model):
    problem = _find_problem(layer)
    if problem is not None:
      raise keras_conversion.LayerError(layer, problem)
  _check_outputs(model)


def _find_problem(layer: tf.keras.layers.Layer) -> str | None:
  if isinstance(layer, static_batch_norm.StaticBatchNormalization):
    return None
  if _draws(layer):
    return (
      'draws random numbers, which could not be repeated. Remove it, or use'
      ' Dropout; the task augments images.'
    )
  for inner in layer.submodules:
    if _draws(inner) or isinstance(inner, tf.keras.layers.BatchNormalization):
      return (
        f'has {inner.name!r} ({type(inner).__name__}) inside, which cannot be'
        ' replaced there. Make it a layer of the model.'
      )
  if layer.trainable and layer.non_trainable_weights:
    name = layer.non_trainable_weights[0].name
    return (
      f'has weights that are not trained ({name}) and that it may change. If it'
      ' does not, set its trainable to False.'
    )
  if layer.losses:
    return 'has a regularizer, whose loss would not be added. Remove it.'
  return None


def _draws(layer: tf.Module) -> bool:
  """Whether a layer draws random numbers; with a rate of 0 it does not."""
  return isinstance(layer, _RANDOM) and getattr(layer, 'rate', None) != 0


# Functions whose outputs are probabilities, with their names.
_MAKE_PROBABILITIES = {
  tf.keras.activations.softmax: 'softmax',
  tf.keras.activations.sigmoid: 'sigmoid',
  tf.keras.activations.hard_sigmoid: 'hard sigmoid',
  tf.nn.softmax: 'softmax',
  tf.nn.sigmoid: 'sigmoid',
}
# Layers that move or drop values, but do not compute new ones.
_MOVE_VALUES = (
  keyed_dropout.KeyedDropout,
  tf.keras.layers.Dropout,
  tf.keras.layers.Flatten,
  tf.keras.layers.Permute,
  tf.keras.layers.Reshape,
)


def _check_outputs(model: tf.keras.Model) -> None:
  if len(model.output_shape) != 2 or model.output_shape[1] < 2:
    raise ValueError(
      f'Model {model.name!r} must return [batch, classes], with two or more'
      f' classes, found {list(model.output_shape)}.'
    )
  layer = _last_layer(model.outputs[0])
  # Layers of TensorFlow operations have a `function` instead.
  activation = getattr(layer, 'activation', getattr(layer, 'function', None))
  if isinstance(layer, tf.keras.layers.Softmax):
    activation = tf.nn.softmax
  if activation in _MAKE_PROBABILITIES:
    raise ValueError(
      f'Model {model.name!r} ends in layer {layer.name!r}'
      f' ({type(layer).__name__}), whose outputs are probabilities; remove the'
      f' {_MAKE_PROBABILITIES[activation]} so that the model returns logits.'
    )


def _last_layer(output: tf.Tensor) -> tf.keras.layers.Layer:
  """The layer, possibly of a nested model, that computes an output.

  Layers that only move values, and linear activations, are skipped.
  """
  layer = output.node.layer
  if isinstance(layer, tf.keras.Model) and layer.outputs:
    return _last_layer(layer.outputs[0])
  is_linear = (
    isinstance(layer, tf.keras.layers.Activation)
    and layer.activation is tf.keras.activations.linear
  )
  if is_linear or isinstance(layer, _MOVE_VALUES):
    return _last_layer(output.node.keras_inputs[0])
  return layer
