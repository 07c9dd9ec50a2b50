# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Refuses Keras models that are not functions of weights and images."""

import tensorflow as tf

from tff_semifl.models import keras_conversion
from tff_semifl.models import static_batch_norm

_RANDOM = tf.keras.__internal__.layers.BaseRandomLayer


def check(model: tf.keras.Model) -> None:
  """Checks that a converted model takes images, and has pure layers only."""
  if len(model.inputs) != 1 or None in model.input_shape[1:]:
    raise ValueError(
      f'Model {model.name!r} must take one batch of images of a fixed size,'
      f' found {[each.shape.as_list() for each in model.inputs]}. Give'
      ' tf.keras.Input height, width and channels.'
    )
  for layer in keras_conversion.inner_layers(model):
    problem = _find_problem(layer)
    if problem is not None:
      raise keras_conversion.LayerError(layer, problem)


def _find_problem(layer: tf.keras.layers.Layer) -> str | None:
  """Problem and remedy of a layer, or None."""
  if isinstance(layer, static_batch_norm.StaticBatchNormalization):
    return None
  if _draws(layer):
    return (
      'draws random numbers, which could not be repeated. Remove it, or use'
      ' Dropout, which is given a seed. Images are augmented by the task, not'
      ' by the model.'
    )
  for inner in layer.submodules:
    if _draws(inner):
      return (
        f'has {inner.name!r} ({type(inner).__name__}) inside, which draws'
        ' random numbers and cannot be replaced there. Set its rate to 0, or'
        ' make it a layer of the model.'
      )
    if isinstance(inner, tf.keras.layers.BatchNormalization):
      return (
        f'has {inner.name!r} ({type(inner).__name__}) inside, which changes its'
        ' statistics in training and cannot be replaced there. Make it a layer'
        ' of the model, or use GroupNormalization.'
      )
  if layer.trainable and layer.non_trainable_weights:
    name = layer.non_trainable_weights[0].name
    return (
      f'has weights that are not trained ({name}) and that it may change'
      ' itself. If it does not, freeze it: set its trainable to False.'
    )
  if layer.losses:
    return (
      'has a regularizer, whose loss would not be added. Remove it; the decay'
      ' of weights is a setting of optimizers.'
    )
  return None


def _draws(layer: tf.Module) -> bool:
  """Whether a layer draws random numbers (not with a rate of 0)."""
  return isinstance(layer, _RANDOM) and getattr(layer, 'rate', None) != 0
