# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Conversion of Keras models to pure layers.

Keras's batch normalization changes weights during training, and its dropout
draws from hidden generators. `convert` replaces such layers, also in nested
models. `check` rejects models that are not pure functions.
"""

from collections.abc import Callable, Iterator
import itertools

import numpy as np
import tensorflow as tf

from tff_semifl.models import keyed_dropout
from tff_semifl.models import static_batch_norm

Layer = tf.keras.layers.Layer
_RANDOM = tf.keras.__internal__.layers.BaseRandomLayer
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


class LayerError(ValueError):
  """A layer of a model cannot be used."""

  def __init__(self, layer: Layer, problem: str):
    super().__init__(f'Layer {layer.name!r} ({type(layer).__name__}) {problem}')


def to_static_batch_norm(layer: Layer) -> Layer:
  """Creates the static layer for a batch normalization, without its weights."""
  return static_batch_norm.StaticBatchNormalization(
    epsilon=layer.epsilon,
    center=layer.center,
    scale=layer.scale,
    name=layer.name,
    trainable=layer.trainable,
    dtype='float32',
  )


def convert(
  model: tf.keras.Model,
  replace_batch_norm: Callable[[Layer], Layer] = to_static_batch_norm,
  *,
  replaces_static: bool = False,
) -> tf.keras.Model:
  """Replaces all layers that are not pure functions.

  `replace_batch_norm` creates the replacement for batch normalization, and for
  static batch normalization if `replaces_static`. `KeyedDropout` replaces
  dropout, and `Rescaling` replaces `Normalization`. Other layers and all
  weights are kept; frozen layers stay frozen. If there is nothing to replace,
  the result is `model` itself.
  """
  replaced = (
    tf.keras.layers.BatchNormalization,
    tf.keras.layers.Dropout,
    tf.keras.layers.Normalization,
  )
  if replaces_static:
    replaced += (static_batch_norm.StaticBatchNormalization,)
  layers = list(inner_layers(model))
  if not any(isinstance(layer, replaced) for layer in layers):
    return model
  keys = itertools.count(
    1 + max((getattr(layer, 'key', -1) for layer in layers), default=-1)
  )
  pairs = []

  def convert_layer(layer: Layer) -> Layer:
    if not isinstance(layer, replaced):
      new = copy_layer(layer)
    elif isinstance(layer, tf.keras.layers.Dropout):
      if getattr(layer, 'data_format', None) == 'channels_first':
        raise LayerError(layer, 'must have channels in the last axis.')
      new = keyed_dropout.replace(layer, next(keys))
    elif isinstance(layer, tf.keras.layers.Normalization):
      new = _to_rescaling(layer)
    else:
      if isinstance(layer, tf.keras.layers.BatchNormalization) and (
        list(layer.axis) != [layer.input_spec.ndim - 1]
      ):
        raise LayerError(layer, 'must have channels in the last axis.')
      new = replace_batch_norm(layer)
    pairs.append((layer, new))
    return new

  converted = clone(model, convert_layer)
  for layer, new in pairs:
    new.set_weights(layer.get_weights()[: len(new.weights)])
  return converted


def clone(
  model: tf.keras.Model, clone_layer: Callable[[Layer], Layer] | None = None
) -> tf.keras.Model:
  """Clones a model and its nested models, with new weights.

  `clone_layer`, by default `copy_layer`, is called once for each layer that is
  not a model, even if the layer is used several times.
  """
  clone_layer = clone_layer or copy_layer
  made = {}

  def clone_any(layer: Layer) -> Layer:
    if id(layer) not in made:
      is_model = isinstance(layer, tf.keras.Model)
      made[id(layer)] = (clone_model if is_model else clone_layer)(layer)
    return made[id(layer)]

  def clone_model(model: tf.keras.Model) -> tf.keras.Model:
    _check_has_graph(model)
    new = tf.keras.models.clone_model(model, clone_function=clone_any)
    if not model.trainable:
      new.trainable = False
    return new

  return clone_model(model)


def copy_layer(layer: Layer) -> Layer:
  """A new layer with the settings, but not the weights, of `layer`."""
  try:
    return type(layer).from_config(layer.get_config())
  except (NotImplementedError, TypeError) as error:
    raise LayerError(
      layer,
      'cannot be made again from its get_config, which must have all arguments'
      f' of its constructor. ({error})',
    ) from error


def inner_layers(model: tf.keras.Model) -> Iterator[Layer]:
  """Yields the layers of a model and of its nested models."""
  _check_has_graph(model)
  for layer in model.layers:
    if isinstance(layer, tf.keras.Model):
      yield from inner_layers(layer)
    else:
      yield layer


def _check_has_graph(model: tf.keras.Model) -> None:
  try:
    # Subclassed models lack these attributes, or their values.
    has_graph = bool(model.inputs) and bool(model.outputs)
  except AttributeError:
    has_graph = False
  if not has_graph:
    raise LayerError(
      model,
      'is a model without a graph of layers. Build it as'
      ' tf.keras.Model(inputs, outputs), or as Sequential that begins with'
      ' tf.keras.Input.',
    )


def _to_rescaling(layer: tf.keras.layers.Normalization) -> Layer:
  mean = np.asarray(layer.mean)
  deviation = np.maximum(np.sqrt(layer.variance), tf.keras.backend.epsilon())
  scale, offset = 1 / deviation, -mean / deviation
  if layer.invert:
    scale, offset = deviation, mean
  return tf.keras.layers.Rescaling(
    scale.tolist(), offset.tolist(), name=layer.name, dtype=layer.dtype_policy
  )


def check(model: tf.keras.Model) -> None:
  """Checks that a converted model takes images, is pure, and returns logits."""
  if len(model.inputs) != 1 or None in model.input_shape[1:]:
    raise ValueError(
      f'Model {model.name!r} must take one batch of images of a fixed size,'
      f' found {[each.shape.as_list() for each in model.inputs]}.'
    )
  for layer in inner_layers(model):
    problem = _find_problem(layer)
    if problem is not None:
      raise LayerError(layer, problem)
  _check_outputs(model)


def _find_problem(layer: Layer) -> str | None:
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


def _last_layer(output: tf.Tensor) -> Layer:
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
