# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The bridge from a Keras model to functions that TFF computations call.

`tff.learning.models.functional_model_from_keras` clones the model each time a
computation that uses it is traced, into a TF 1 graph, after which the Keras
classes no longer work outside of it. Here it is cloned once, for `tf.function`s
of the weights (`pure_functions`): a computation then holds a call of such a
function, and the same function works eagerly.
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
from tff_semifl.models import probabilities
from tff_semifl.models import pure_functions
from tff_semifl.models import pure_layers
from tff_semifl.models import static_batch_norm
from tff_semifl.models import weight_kinds

ModelWeights = tff.learning.models.ModelWeights


class ImageClassifier(NamedTuple):
  """An image classifier as pure functions of its weights.

  Weights are `tff.learning.models.ModelWeights`: tuples of arrays or tensors,
  in the order of the Keras model's weights. Trainable are those that are
  trained, not trainable the statistics of static batch normalization, mean and
  variance of each layer in turn. Frozen weights are constants of the functions:
  they are neither sent nor averaged, and no state has them. Images are float32
  [batch, height, width, channels] in 0..255, or feature vectors [batch,
  features].

  Attributes:
    initial_weights: The arrays to start from.
    train_logits: (weights, images, seed=None, num_real=None) -> float32 [batch,
      classes], in training mode: batch normalization by the statistics of the
      batch. May compute in another precision than the others. The seed, int32
      [2], is what dropout draws with: a model that has `KeyedDropout` needs
      one. If there is `num_real`, an int32 scalar, statistics are those of
      so many images; all that follow are padding.
    batch_logits: (weights, images, num_real=None) -> the same, but nothing is
      dropped.
    logits: (weights, images) -> float32 [batch, classes], in inference mode.
    batch_moments: (weights, images) -> for each layer with statistics the
      moments of its input in training mode, float32 [3, channels]: see
      `static_batch_norm.collecting_moments`; nothing is dropped. None for a
      model without statistics.
    image_shape: Height, width, channels; or the number of features.
    num_classes: Number of logits.
    variables: The weights of the Keras model.
    features: Features of images, of a model whose last layer is dense; None for
      others.
  """

  initial_weights: ModelWeights
  train_logits: Callable[..., tf.Tensor]
  batch_logits: Callable[..., tf.Tensor]
  logits: Callable[[ModelWeights, tf.Tensor], tf.Tensor]
  batch_moments: Callable[[ModelWeights, tf.Tensor], list[tf.Tensor]] | None
  image_shape: tuple[int, ...]
  num_classes: int
  variables: weight_kinds.WeightKinds
  features: features_lib.Features | None = None

  @property
  def trainable_names(self) -> tuple[str, ...]:
    """Names of the trainable weights, `<layer>/<weight>:0`."""
    return tuple(weight.name for weight in self.variables.trainable)

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
    model: A functional or sequential Keras model from images to logits, so
      without a softmax at its end. Unless `keras_conversion.convert` has been
      called before, batch normalization becomes static and dropout is given a
      seed; what is frozen stays so.
    train_in_bfloat16: Whether `train_logits` computes in bfloat16, but for
      normalizations. Weights and their gradients are float32 all the same.
    jit_compile: Whether XLA compiles `train_logits` and its gradient, once for
      each size of a batch. TFF's own worker has no XLA, and leaves it out.

  Returns:
    The classifier.

  Raises:
    ValueError: If the outputs are probabilities or are not of two or more
      classes, if nothing is trained, or if a layer cannot be converted or is
      more than a function of its weights.
  """
  model = keras_conversion.convert(model)
  pure_layers.check(model)
  returns_logits = probabilities.check_structure(model)
  kinds = weight_kinds.find(model)
  if not kinds.trainable:
    raise ValueError(
      f'Model {model.name!r} has no weights to train. If it is frozen, leave'
      ' its last layer trainable.'
    )
  symbolic = symbolic_for_training = pure_functions.clone_to_symbols(
    model, kinds
  )
  if train_in_bfloat16:
    symbolic_for_training = pure_functions.clone_to_symbols(
      model, kinds, pure_functions.copy_layer_in_bfloat16
    )
  create = functools.partial(
    pure_functions.build, frozen=[weight.numpy() for weight in kinds.frozen]
  )
  create_for_training = functools.partial(
    create, symbolic_for_training, jit_compile=jit_compile
  )
  initial_weights = ModelWeights(
    tuple(w.numpy() for w in kinds.trainable),
    tuple(w.numpy() for w in kinds.statistics),
  )
  logits = create(
    symbolic, call_fn=lambda clone, images: clone(images, training=False)
  )
  if not returns_logits:
    probabilities.check_outputs(model, logits, initial_weights)
  train_logits = create_for_training(
    call_fn=lambda clone, images: clone(images, training=True)
  )
  return ImageClassifier(
    initial_weights=initial_weights,
    train_logits=train_logits,
    batch_logits=create_for_training(call_fn=_batch_logits)
    if _has_dropout(model)
    else train_logits,
    logits=logits,
    batch_moments=create(symbolic, call_fn=_batch_moments)
    if kinds.statistics
    else None,
    image_shape=tuple(model.input_shape[1:]),
    num_classes=model.output_shape[-1],
    variables=kinds,
    features=features_lib.plan(
      symbolic, symbolic_for_training, create, jit_compile=jit_compile
    ),
  )


def assign_weights(
  model: tf.keras.Model,
  weights: ModelWeights,
  frozen: Sequence[np.ndarray] | None = None,
) -> None:
  """Assigns weights to a Keras model.

  Args:
    model: The model, as `keras_conversion.convert` returns it; its own weights
      are overwritten.
    weights: Weights of the same number and shapes as the model's.
    frozen: Values of `weight_kinds.WeightKinds.frozen`; by default they stay as
      they are.

  Raises:
    ValueError: If there are more or fewer, or one has another shape.
  """
  weight_kinds.find(model).assign(weights, frozen)


def _has_dropout(model: tf.keras.Model) -> bool:
  return any(
    isinstance(layer, keyed_dropout.KeyedDropout)
    for layer in keras_conversion.inner_layers(model)
  )


def _batch_logits(model: tf.keras.Model, images: tf.Tensor) -> tf.Tensor:
  """Returns the logits in training mode, of which nothing is dropped."""
  with keyed_dropout.turned_off():
    return model(images, training=True)


def _batch_moments(model: tf.keras.Model, images: tf.Tensor) -> list[tf.Tensor]:
  """Returns the moments of each layer with statistics, in their order."""
  with (
    keyed_dropout.turned_off(),
    static_batch_norm.collecting_moments() as collected,
  ):
    model(images, training=True)
  # Layers may be called in another order than that of the model's weights.
  position = {id(w): i for i, w in enumerate(model.non_trainable_weights)}
  collected.sort(key=lambda each: position[id(each[0].mean)])
  return [moments for _, moments in collected]
