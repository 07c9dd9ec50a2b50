# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Features of images: the inputs of the last layer of a model."""

from collections.abc import Callable, Sequence
import functools
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.models import pure_functions


def create_linear(
  input_shape: Sequence[int],
  num_classes: int,
  *,
  mean: Sequence[float],
  standard_deviation: Sequence[float],
) -> tf.keras.Model:
  """Creates a linear classifier of standardized inputs; weights start at 0.

  The loss is convex, so that initial weights do not matter.
  """
  inputs = tf.keras.Input(input_shape)
  x = tf.keras.layers.Rescaling(
    [1 / s for s in standard_deviation],
    [-m / s for m, s in zip(mean, standard_deviation, strict=True)],
  )(inputs)
  x = tf.keras.layers.Flatten()(x)
  logits = tf.keras.layers.Dense(num_classes, kernel_initializer='zeros')(x)
  return tf.keras.Model(inputs, logits, name='linear')


class Features(NamedTuple):
  """Pure functions that compute the features of images, float32 [batch, size].

  `train`, `batch` and `infer` take the arguments of `train_logits`,
  `batch_logits` and `logits` of `functional.ImageClassifier`. Each function is
  built at its first call.
  """

  size: int
  train: Callable[..., tf.Tensor]
  batch: Callable[..., tf.Tensor]
  infer: Callable[..., tf.Tensor]


def plan(
  symbolic: pure_functions.SymbolicModel,
  create: Callable[..., Callable[..., tf.Tensor]],
  *,
  jit_compile: bool,
) -> Features | None:
  """The features of a model; None if its last layer is not dense.

  `create` is `pure_functions.build` with the model's frozen weights.
  """
  last = symbolic.model.layers[-1]
  if not isinstance(last, tf.keras.layers.Dense) or last.input.shape.rank != 2:
    return None
  # The model is cut here instead of in the first call, which may be in a TFF
  # computation, a TF 1 graph: Keras would then create only TF 1 models.
  body = symbolic._replace(
    model=tf.keras.Model(symbolic.model.inputs, last.input)
  )
  create_for_training = functools.partial(create, body, jit_compile=jit_compile)
  return Features(
    size=last.input.shape[-1],
    train=_when_called(create_for_training, pure_functions.in_training),
    batch=_when_called(create_for_training, pure_functions.without_dropout),
    infer=_when_called(
      functools.partial(create, body), pure_functions.in_inference
    ),
  )


def require_features(features: Features | None) -> Features:
  """Returns the features; raises a `ValueError` if they are None."""
  if features is None:
    raise ValueError(
      'the last layer of this model is not dense; choose another model'
    )
  return features


def _when_called(
  create: Callable[..., Any], call_fn: Callable[..., tf.Tensor]
) -> Callable[..., tf.Tensor]:
  build = functools.cache(functools.partial(create, call_fn=call_fn))

  def function(*arguments, **options) -> tf.Tensor:
    # The call may be inside the graph of a computation.
    with tf.init_scope():
      built = build()
    return built(*arguments, **options)

  return function
