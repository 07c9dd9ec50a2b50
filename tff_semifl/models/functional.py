# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keras models as functions that TFF computations call.

`tff.learning.models.functional_model_from_keras` clones the model into a TF 1
graph at each use, and Keras classes then fail outside of this graph. Here the
model is cloned once, and becomes `tf.function`s of the weights
(`pure_functions`). Computations and eager code can call these functions.
"""

from collections.abc import Callable, Sequence
import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.models import features as features_lib
from tff_semifl.models import keras_conversion
from tff_semifl.models import keyed_dropout
from tff_semifl.models import pure_functions
from tff_semifl.models import static_batch_norm
from tff_semifl.randomness import random_draws

ModelWeights = tff.learning.models.ModelWeights


class WeightKinds(NamedTuple):
  """The weights of a Keras model by role in training, in the model's order.

  Statistics are the means and variances of layers that use batch statistics in
  training. All other non-trainable weights are frozen.
  """

  trainable: tuple[tf.Variable, ...]
  statistics: tuple[tf.Variable, ...]
  frozen: tuple[tf.Variable, ...]

  def assign(
    self, weights: ModelWeights, frozen: Sequence[np.ndarray] | None = None
  ) -> None:
    """Sets the variables; `frozen=None` leaves frozen weights unchanged."""
    variables = [*self.trainable, *self.statistics]
    values = [*weights.trainable, *weights.non_trainable]
    if frozen is not None:
      variables += self.frozen
      values += frozen
    if [tuple(each.shape) for each in variables] != [*map(np.shape, values)]:
      raise ValueError('these are the weights of another model')
    for variable, value in zip(variables, values, strict=True):
      variable.assign(value)


def find_weights(model: tf.keras.Model) -> WeightKinds:
  """The weights of a model by role; its layers must be pure functions."""
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

  The model is called once, to see which layers get `training=True`.
  """
  kind = static_batch_norm.StaticBatchNormalization
  inner = keras_conversion.inner_layers(model)
  if not any(isinstance(each, kind) and each.trainable for each in inner):
    return []
  layers = []

  def observe(images: tf.Tensor) -> None:
    layers.extend(layer for layer, _ in _collect_moments(model, images))

  tf.function(pure_functions.as_it_is(observe)).get_concrete_function(
    tf.TensorSpec(model.input_shape)
  )
  for layer in layers:
    if layers.count(layer) > 1:
      raise keras_conversion.LayerError(
        layer,
        'normalizes by its batch in several places. Use a layer for each.',
      )
  return layers


def _collect_moments(
  model: tf.keras.Model, images: tf.Tensor
) -> list[tuple[static_batch_norm.StaticBatchNormalization, tf.Tensor]]:
  with (
    random_draws.dropping_by(random_draws.NO_DROPOUT),
    static_batch_norm.collecting_moments() as collected,
  ):
    model(images, training=True)
  return collected


class ImageClassifier(NamedTuple):
  """An image classifier as pure functions of its weights.

  Weights are `tff.learning.models.ModelWeights`: tuples of arrays or tensors,
  in the order of the Keras model's weights. The non-trainable weights are the
  mean and variance of each static batch normalization in turn. Frozen weights
  are constants of the functions, neither sent nor averaged. Images are uint8 or
  float32 [batch, height, width, channels] in 0..255, or feature vectors [batch,
  features].

  Attributes:
    initial_weights: The initial arrays.
    train_logits: (weights, images, seed=None, num_real=None) -> float32 [batch,
      classes], in training mode, normalized by batch statistics. `seed`, int32
      [2], is required if the model has `KeyedDropout`. Images from the index
      `num_real`, an int32 scalar, are padding, which the statistics ignore.
    batch_logits: (weights, images, num_real=None) -> like `train_logits`,
      without dropout.
    logits: (weights, images) -> float32 [batch, classes], in inference mode.
    batch_moments: (weights, images) -> a list with the moments of each layer
      with statistics, as `static_batch_norm.collecting_moments` describes them;
      None for a model without statistics.
    image_shape: Height, width, channels; or the number of features.
    variables: The weights of the Keras model.
    features: Features of images; None unless the last layer is dense.
  """

  initial_weights: ModelWeights
  train_logits: Callable[..., tf.Tensor]
  batch_logits: Callable[..., tf.Tensor]
  logits: Callable[[ModelWeights, tf.Tensor], tf.Tensor]
  batch_moments: Callable[[ModelWeights, tf.Tensor], list[tf.Tensor]] | None
  image_shape: tuple[int, ...]
  num_classes: int
  variables: WeightKinds
  features: features_lib.Features | None = None

  @property
  def trainable_names(self) -> tuple[str, ...]:
    """Names of the trainable weights, `<layer>/<weight>:0`."""
    return tuple(weight.name for weight in self.variables.trainable)

  @property
  def weights_type(self) -> tff.Type:
    """The TFF type of the weights."""
    return tff.types.to_type(
      tf.nest.map_structure(
        lambda array: (array.dtype, array.shape), self.initial_weights
      )
    )


def from_keras(
  model: tf.keras.Model, *, jit_compile: bool = False
) -> ImageClassifier:
  """Converts a Keras model to pure functions.

  Args:
    model: A functional or sequential Keras model from images to logits, without
      a final softmax. `keras_conversion.convert` makes batch normalization
      static, and gives dropout a seed.
    jit_compile: Whether XLA compiles `train_logits` and its gradient, once for
      each batch size. TFF's own worker has no XLA, and ignores this setting.

  Raises:
    ValueError: The outputs are probabilities or have fewer than two classes, no
      weight is trainable, or a layer cannot be converted to a pure function.
  """
  model = keras_conversion.convert(model)
  keras_conversion.check(model)
  kinds = find_weights(model)
  if not kinds.trainable:
    raise ValueError(f'Model {model.name!r} has no weights to train.')
  symbolic = pure_functions.clone_to_symbols(model, sum(kinds, ()))
  create = functools.partial(
    pure_functions.build, frozen=[weight.numpy() for weight in kinds.frozen]
  )
  create_for_training = functools.partial(
    create, symbolic, jit_compile=jit_compile
  )
  initial_weights = ModelWeights(
    tuple(w.numpy() for w in kinds.trainable),
    tuple(w.numpy() for w in kinds.statistics),
  )
  train_logits = create_for_training(call_fn=pure_functions.in_training)
  has_dropout = any(
    isinstance(layer, keyed_dropout.KeyedDropout)
    for layer in keras_conversion.inner_layers(model)
  )
  return ImageClassifier(
    initial_weights=initial_weights,
    train_logits=train_logits,
    batch_logits=create_for_training(call_fn=pure_functions.without_dropout)
    if has_dropout
    else train_logits,
    logits=create(symbolic, call_fn=pure_functions.in_inference),
    batch_moments=create(symbolic, call_fn=_batch_moments)
    if kinds.statistics
    else None,
    image_shape=tuple(model.input_shape[1:]),
    num_classes=model.output_shape[-1],
    variables=kinds,
    features=features_lib.plan(symbolic, create, jit_compile=jit_compile),
  )


def _batch_moments(model: tf.keras.Model, images: tf.Tensor) -> list[tf.Tensor]:
  collected = _collect_moments(model, images)
  # The order of calls may differ from the order of the model's weights.
  position = {id(w): i for i, w in enumerate(model.non_trainable_weights)}
  collected.sort(key=lambda each: position[id(each[0].mean)])
  return [moments for _, moments in collected]
