# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keras models as functions of weights and images.

Functions are traced with a clone of the model; weights are arguments of calls.
"""

from collections.abc import Callable, Sequence
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.models import keras_conversion
from tff_semifl.models import padded_batches
from tff_semifl.models import static_batch_norm
from tff_semifl.randomness import random_draws


def as_it_is(fn: Callable[..., Any]) -> Callable[..., Any]:
  """Exempts a function from AutoGraph, but not the layers that it calls.

  AutoGraph takes four seconds for a client update. `autograph=False` would also
  turn off conversions that TensorFlow and Keras need: for the `call` of layers,
  and for functions passed to operations such as `tf.map_fn`. `fn` must not have
  an `if` or loop on tensors.
  """

  def call(*arguments: Any) -> Any:
    # AutoGraph skips a method wrapper, which has no Python code.
    return fn.__call__(*arguments)

  # TensorFlow's errors and profiles show this name.
  call.__name__ = fn.__name__
  return call


class SymbolicModel(NamedTuple):
  """A clone of a model with symbolic tensors in place of weights.

  A `tf.function` that calls the clone captures the symbolic tensors.
  `symbols` are in the order of `functional.WeightKinds`.
  """

  model: tf.keras.Model
  symbols: list[tf.Tensor]


def in_training(model: tf.keras.Model, images: tf.Tensor) -> tf.Tensor:
  """The outputs of a model in training mode."""
  return model(images, training=True)


def without_dropout(model: tf.keras.Model, images: tf.Tensor) -> tf.Tensor:
  """The outputs of a model in training mode, without dropout."""
  with random_draws.dropping_by(random_draws.NO_DROPOUT):
    return model(images, training=True)


def in_inference(model: tf.keras.Model, images: tf.Tensor) -> tf.Tensor:
  """The outputs of a model in inference mode."""
  return model(images, training=False)


def build(
  symbolic: SymbolicModel,
  *,
  call_fn: Callable[[tf.keras.Model, tf.Tensor], tf.Tensor | list[tf.Tensor]],
  frozen: Sequence[np.ndarray],
  jit_compile: bool = False,
) -> Callable[..., tf.Tensor | list[tf.Tensor]]:
  """Converts `call_fn` to a function of (weights, images, seed, num_real).

  `functional.ImageClassifier` describes these arguments.
  """
  model, symbols = symbolic
  needs_seed = False

  def call(
    images: tf.Tensor, seed: tf.Tensor, *num_real: tf.Tensor
  ) -> tf.Tensor | list[tf.Tensor]:
    nonlocal needs_seed
    with (
      random_draws.dropping_by(seed),
      static_batch_norm.with_padding(*num_real or [None]),
    ):
      outputs = call_fn(model, images)
    needs_seed = bool(seed.consumers())
    return tf.nest.map_structure(
      lambda output: tf.cast(output, tf.float32), outputs
    )

  position = {id(symbol): index for index, symbol in enumerate(symbols)}
  constants = [*frozen]

  def find_value(captured: tf.Tensor) -> tuple[int, tf.DType]:
    """A captured tensor's index among `values`, and its dtype."""
    if id(captured) not in position:
      if tf.is_symbolic_tensor(captured) or captured.dtype == tf.resource:
        raise ValueError(
          f'Model {model.name!r} holds a variable that is no weight of a layer.'
          ' Create it by add_weight.'
        )
      # For example a `tf.constant` of a layer; weights come first.
      position[id(captured)] = len(position)
      constants.append(captured.numpy())
    return position[id(captured)], captured.dtype

  @functools.cache
  def trace(
    image_shape: tuple[int | None, ...], *num_real: tf.TensorSpec
  ) -> tuple[Any, list[tuple[int, tf.DType]]]:
    """The traced model, and the index and dtype of each captured tensor."""
    # The caller may be inside a TF 1 graph.
    with tf.init_scope():
      # If the batch size is known, the client update is one XLA program, and
      # XLA cannot compile the gradient of a nested program.
      compiled = jit_compile and image_shape == model.input_shape
      traced = tf.function(
        as_it_is(call), jit_compile=compiled or None
      ).get_concrete_function(
        tf.TensorSpec(image_shape, tf.float32),
        tf.TensorSpec([2], tf.int32),
        *num_real,
      )
      return traced, [find_value(each) for each in traced.captured_inputs]

  trace(model.input_shape)
  # Cached, because a client update calls the model several times.
  insert = functools.cache(padded_batches.build_insertion)

  def pure_function(
    weights: tff.learning.models.ModelWeights,
    images: tf.Tensor,
    seed: tf.Tensor | None = None,
    num_real: tf.Tensor | None = None,
  ) -> tf.Tensor:
    if needs_seed and seed is None:
      raise ValueError(
        f'Model {model.name!r} has dropout: in training it needs a seed.'
      )
    images = tf.cast(images, tf.float32)
    arguments = [images, tf.convert_to_tensor((0, 0) if seed is None else seed)]
    if num_real is None:
      traced, used = trace(model.input_shape)
    else:
      arguments.append(tf.convert_to_tensor(num_real, tf.int32))
      traced, used = trace(tuple(images.shape), tf.TensorSpec([], tf.int32))
    values = [*weights.trainable, *weights.non_trainable, *constants]
    captured = [tf.cast(values[index], dtype) for index, dtype in used]
    if num_real is None or tf.executing_eagerly():
      # TensorFlow has no public call with other values of captured tensors.
      return private_api.call_flat(traced, arguments, captured)
    outputs = insert(traced)(*arguments, *captured)
    return tf.nest.pack_sequence_as(traced.structured_outputs, outputs)

  return pure_function


def clone_to_symbols(
  model: tf.keras.Model, weights: Sequence[tf.Variable]
) -> SymbolicModel:
  """Clones a model with symbolic tensors in place of `weights`, in order."""
  graph = tf.Graph()

  def create_symbol(
    _, *, shape: Sequence[int], dtype: tf.DType, **kwargs
  ) -> tf.Tensor:
    with graph.as_default():
      return tf.compat.v1.placeholder(dtype, shape)

  # Keras gets a tensor wherever it creates a variable.
  with tf.variable_creator_scope(create_symbol):
    clone = keras_conversion.clone(model)
  originals = [*model.trainable_weights, *model.non_trainable_weights]
  cloned = [*clone.trainable_weights, *clone.non_trainable_weights]
  if len(cloned) != len(originals):
    raise ValueError(f'Layers of model {model.name!r} must not share weights.')
  symbols = {id(w): symbol for w, symbol in zip(originals, cloned, strict=True)}
  return SymbolicModel(clone, [symbols[id(w)] for w in weights])
