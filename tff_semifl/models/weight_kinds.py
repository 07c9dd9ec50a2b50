# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The weights of a Keras model, by their role in training."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.models import keras_conversion
from tff_semifl.models import keyed_dropout
from tff_semifl.models import pure_functions
from tff_semifl.models import static_batch_norm


class WeightKinds(NamedTuple):
  """The weights of a model by kind, each in the model's order.

  Statistics are the mean and variance of each layer that normalizes by batch
  statistics in training. All other non-trainable weights are frozen.
  """

  trainable: tuple[tf.Variable, ...]
  statistics: tuple[tf.Variable, ...]
  frozen: tuple[tf.Variable, ...]

  def assign(
    self,
    weights: tff.learning.models.ModelWeights,
    frozen: Sequence[np.ndarray] | None = None,
  ) -> None:
    """Assigns the weights' values; None leaves frozen weights unchanged."""
    variables = [*self.trainable, *self.statistics]
    values = [*weights.trainable, *weights.non_trainable]
    if frozen is not None:
      variables += self.frozen
      values += frozen
    if [tuple(each.shape) for each in variables] != [*map(np.shape, values)]:
      raise ValueError('these are the weights of another model')
    for variable, value in zip(variables, values, strict=True):
      variable.assign(value)


def find(model: tf.keras.Model) -> WeightKinds:
  """Groups the weights of a model with pure layers by kind."""
  found = {
    id(weight)
    for layer in _find_normalizing(model)
    for weight in (layer.mean, layer.variance)
  }
  not_trainable = model.non_trainable_weights
  return WeightKinds(
    tuple(model.trainable_weights),
    tuple(each for each in not_trainable if id(each) in found),
    tuple(each for each in not_trainable if id(each) not in found),
  )


def _find_normalizing(
  model: tf.keras.Model,
) -> list[static_batch_norm.StaticBatchNormalization]:
  """The layers that normalize by batch statistics in training.

  A call of the model shows these layers, as the model may call some of its
  layers with `training=False`.
  """
  kind = static_batch_norm.StaticBatchNormalization
  if not any(
    isinstance(layer, kind) and layer.trainable
    for layer in keras_conversion.inner_layers(model)
  ):
    return []
  layers = []

  def observe(images: tf.Tensor) -> None:
    with (
      keyed_dropout.turned_off(),
      static_batch_norm.collecting_moments() as collected,
    ):
      model(images, training=True)
    layers.extend(layer for layer, _ in collected)

  tf.function(pure_functions.as_it_is(observe)).get_concrete_function(
    tf.TensorSpec(model.input_shape)
  )
  for layer in layers:
    if layers.count(layer) > 1:
      raise keras_conversion.LayerError(
        layer,
        'normalizes by the statistics of its batch in several places, but has'
        ' statistics for one. Use a layer for each, or freeze it.',
      )
  return layers
