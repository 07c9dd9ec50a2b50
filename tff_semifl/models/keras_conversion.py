# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Conversion of Keras models to pure layers.

Keras's batch normalization changes weights during training, and its dropout
draws from hidden generators. `convert` replaces both, also in nested models.
"""

from collections.abc import Callable, Iterator
import itertools

import numpy as np
import tensorflow as tf

from tff_semifl.models import keyed_dropout
from tff_semifl.models import static_batch_norm

Layer = tf.keras.layers.Layer


class LayerError(ValueError):
  """A layer of a model cannot be used."""

  def __init__(self, layer: Layer, problem: str):
    super().__init__(f'Layer {layer.name!r} ({type(layer).__name__}) {problem}')


def to_static_batch_norm(layer: Layer) -> Layer:
  """Static batch normalization that starts with Keras's moving averages."""
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

  `replace_batch_norm` replaces batch normalization, and static batch
  normalization if `replaces_static`. `KeyedDropout` replaces dropout, and
  `Rescaling` replaces `Normalization`, which holds tensors. Other layers, all
  weights and frozen states are kept. If there is nothing to replace, the result
  is `model` itself.
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
      if isinstance(layer, tf.keras.layers.BatchNormalization):
        _check_axis(layer)
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
  """A new layer with the same settings."""
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


def _check_axis(layer: tf.keras.layers.BatchNormalization) -> None:
  if list(layer.axis) != [layer.input_spec.ndim - 1]:
    raise LayerError(layer, 'must have channels in the last axis.')


def _to_rescaling(layer: tf.keras.layers.Normalization) -> Layer:
  mean = np.asarray(layer.mean)
  deviation = np.maximum(np.sqrt(layer.variance), tf.keras.backend.epsilon())
  scale, offset = 1 / deviation, -mean / deviation
  if layer.invert:
    scale, offset = deviation, mean
  return tf.keras.layers.Rescaling(
    scale.tolist(), offset.tolist(), name=layer.name, dtype=layer.dtype_policy
  )
