# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The bridge from a Keras model to functions that TFF computations call.

`tff.learning.models.functional_model_from_keras` clones the model each time a
computation that uses it is traced, into a TF 1 graph, after which the Keras
classes no longer work outside of it. Here the model is cloned once, into
`tf.function`s of the weights: a computation then holds a call of that
function, and the same function works eagerly.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.models import keyed_dropout
from tff_semifl.models import probabilities
from tff_semifl.models import static_batch_norm

ModelWeights = tff.learning.models.ModelWeights

# Pixels, means and variances need more than the eight bits of bfloat16.
_FLOAT32_LAYERS = (
  static_batch_norm.StaticBatchNormalization,
  tf.keras.layers.GroupNormalization,
  tf.keras.layers.Rescaling,
)


class ImageClassifier(NamedTuple):
  """An image classifier as pure functions of its weights.

  Weights are `tff.learning.models.ModelWeights`: tuples of arrays or tensors,
  in the order of the Keras model's `trainable_weights` and
  `non_trainable_weights`. Images are float32 [batch, height, width, channels]
  in 0..255.

  Attributes:
    initial_weights: The arrays to start from.
    train_logits: (weights, images, seed=None) -> float32 [batch, classes], in
      training mode: batch normalization by the statistics of the batch. May
      compute in another precision than the others. The seed, int32 [2], is what
      dropout draws with: a model that has `KeyedDropout` needs one.
    logits: (weights, images) -> float32 [batch, classes], in inference mode.
    batch_moments: (weights, images) -> for each batch normalization layer the
      `BatchMoments` of its input in training mode, float32 [3, channels]. None
      for a model without static batch normalization.
    image_shape: Height, width, channels.
    num_classes: Number of logits.
    trainable_names: Names of the trainable weights, `<layer>/<weight>:0`.
  """

  initial_weights: ModelWeights
  train_logits: Callable[..., tf.Tensor]
  logits: Callable[[ModelWeights, tf.Tensor], tf.Tensor]
  batch_moments: Callable[[ModelWeights, tf.Tensor], list[tf.Tensor]] | None
  image_shape: tuple[int, int, int]
  num_classes: int
  trainable_names: tuple[str, ...]

  @property
  def weights_type(self) -> tff.Type:
    """TFF type of the weights."""
    return tff.types.to_type(
      ModelWeights(
        *(
          tuple((array.dtype, array.shape) for array in arrays)
          for arrays in self.initial_weights
        )
      )
    )


def from_keras(
  model: tf.keras.Model,
  *,
  train_in_bfloat16: bool = False,
  jit_compile: bool = False,
) -> ImageClassifier:
  """Makes pure functions of a Keras model.

  Args:
    model: A functional Keras model from images to logits, so without a softmax
      at its end. Calling a layer must not change its weights:
      `StaticBatchNormalization` will do, Keras' `BatchNormalization` will not.
      `KeyedDropout` will, Keras' will not.
    train_in_bfloat16: Whether `train_logits` computes in bfloat16, but for
      normalizations. Weights and their gradients are float32 all the same.
    jit_compile: Whether XLA compiles `train_logits` and its gradient, once for
      each size of a batch. TFF's own worker has no XLA, and leaves it out.

  Returns:
    The classifier.

  Raises:
    ValueError: If the outputs are probabilities or are not of two or more
      classes, or if a layer is a model itself, draws random numbers, has
      weights that are not trained, or shares weights with another.
  """
  returns_logits = probabilities.check_structure(model)
  for layer in model.layers:
    _check_is_pure(layer)
  creation_order = _creation_order(model)
  batch_moments = None
  if static_batch_norm.is_in(model):
    with_moments = static_batch_norm.create_moments_model(model)
    # Its layers are those of the model in their order, and some without weights
    # that nothing depends on.
    outputs = _pure_function(with_moments, creation_order, training=True)

    def batch_moments(
      weights: ModelWeights, images: tf.Tensor
    ) -> list[tf.Tensor]:
      return outputs(weights, images)[1:]

  initial_weights = ModelWeights(
    tuple(w.numpy() for w in model.trainable_weights),
    tuple(w.numpy() for w in model.non_trainable_weights),
  )
  logits = _pure_function(model, creation_order, training=False)
  if not returns_logits:
    probabilities.check_outputs(model, logits, initial_weights)
  return ImageClassifier(
    initial_weights=initial_weights,
    train_logits=_pure_function(
      _clone_in_bfloat16(model) if train_in_bfloat16 else model,
      creation_order,
      training=True,
      jit_compile=jit_compile,
    ),
    logits=logits,
    batch_moments=batch_moments,
    image_shape=tuple(model.input_shape[1:]),
    num_classes=model.output_shape[-1],
    trainable_names=tuple(w.name for w in model.trainable_weights),
  )


def assign_weights(model: tf.keras.Model, weights: ModelWeights) -> None:
  """Assigns weights to a Keras model.

  Args:
    model: The model; its own weights are overwritten.
    weights: Weights of the same number and shapes as the model's.

  Raises:
    ValueError: If there are more or fewer, or one has another shape.
  """
  pairs = (
    (model.trainable_weights, weights.trainable),
    (model.non_trainable_weights, weights.non_trainable),
  )
  for variables, values in pairs:
    if [tuple(each.shape) for each in variables] != [*map(np.shape, values)]:
      raise ValueError('these are the weights of another model')
  for variables, values in pairs:
    for variable, value in zip(variables, values, strict=True):
      variable.assign(value)


def _check_is_pure(layer: tf.keras.layers.Layer) -> None:
  """Raises a ValueError if a layer is more than a function of its weights."""
  remedy = None
  if isinstance(layer, tf.keras.Model):
    remedy = 'is a model itself. Build one model of all layers.'
  elif isinstance(layer, tf.keras.__internal__.layers.BaseRandomLayer):
    remedy = (
      'draws random numbers, which could not be repeated. Use KeyedDropout.'
    )
  elif layer.non_trainable_weights and not isinstance(
    layer, static_batch_norm.StaticBatchNormalization
  ):
    remedy = (
      'has weights that are not trained. Use StaticBatchNormalization or'
      ' GroupNormalization for normalization, and freeze nothing.'
    )
  if remedy is not None:
    raise ValueError(f'Layer {layer.name!r} ({type(layer).__name__}) {remedy}')


def _pure_function(
  model: tf.keras.Model,
  creation_order: Sequence[int],
  *,
  training: bool,
  jit_compile: bool = False,
) -> Callable[..., tf.Tensor | list[tf.Tensor]]:
  """Returns `model` as a function of (weights, images, seed=None)."""
  weights = [*model.trainable_weights, *model.non_trainable_weights]
  needs_seed = training and any(
    isinstance(layer, keyed_dropout.KeyedDropout) for layer in model.layers
  )

  @tf.function(
    input_signature=[
      [tf.TensorSpec(w.shape, tf.float32) for w in weights],
      tf.TensorSpec(model.input_shape, tf.float32),
      tf.TensorSpec([2], tf.int32),
    ],
    autograph=False,
    jit_compile=jit_compile or None,
  )
  def call(
    values: Sequence[tf.Tensor], images: tf.Tensor, seed: tf.Tensor
  ) -> tf.Tensor:
    # Keras asks for variables while it builds the clone and is handed the
    # tensors in their place, so that there are no variables at all.
    values = [tf.cast(v, w.dtype) for v, w in zip(values, weights, strict=True)]
    in_order = iter([values[index] for index in creation_order])
    with tf.variable_creator_scope(lambda _, **kwargs: next(in_order)):
      clone = tf.keras.models.clone_model(model)
    with keyed_dropout.seeded(seed):
      outputs = clone(images, training=training)
    return tf.nest.map_structure(
      lambda output: tf.cast(output, tf.float32), outputs
    )

  concrete_function = call.get_concrete_function()

  def pure_function(
    weights: ModelWeights, images: tf.Tensor, seed: tf.Tensor | None = None
  ) -> tf.Tensor:
    if needs_seed and seed is None:
      raise ValueError(
        f'Model {model.name!r} has dropout: in training it needs a seed.'
      )
    values = [*weights.trainable, *weights.non_trainable]
    return concrete_function(
      [tf.convert_to_tensor(value) for value in values],
      tf.convert_to_tensor(images),
      tf.convert_to_tensor((0, 0) if seed is None else seed),
    )

  return pure_function


def _clone_in_bfloat16(model: tf.keras.Model) -> tf.keras.Model:
  """Returns a clone that computes in bfloat16, unless that loses too much."""

  # Layers cast what they are given to their own type.
  def clone_layer(layer: tf.keras.layers.Layer) -> tf.keras.layers.Layer:
    config = layer.get_config()
    if not isinstance(layer, _FLOAT32_LAYERS):
      config['dtype'] = 'bfloat16'
    return type(layer).from_config(config)

  return tf.keras.models.clone_model(model, clone_function=clone_layer)


def _creation_order(model: tf.keras.Model) -> list[int]:
  """Returns the order in which cloning `model` creates its weights.

  Returns:
    Indices into the trainable weights followed by the non-trainable ones.

  Raises:
    ValueError: If a clone does not create each weight of the model once.
  """
  created = []

  def record(
    _, *, shape: Sequence[int], dtype: tf.DType, **kwargs
  ) -> tf.Tensor:
    created.append(tf.zeros(shape, dtype))
    return created[-1]

  # In a graph of its own: nothing has to be computed.
  with tf.Graph().as_default(), tf.variable_creator_scope(record):
    clone = tf.keras.models.clone_model(model)
  weights = [*clone.trainable_weights, *clone.non_trainable_weights]
  position = {w.ref(): index for index, w in enumerate(weights)}
  # The others are the batch counters of `fit`, which every Keras model has but
  # does not create inside a function.
  order = [position[v.ref()] for v in created if v.ref() in position]
  if sorted(order) != list(range(len(model.weights))):
    raise ValueError(
      f'The model has {len(model.weights)} weights, but a clone of it'
      f' {len(weights)}: layers must not share weights.'
    )
  return order
