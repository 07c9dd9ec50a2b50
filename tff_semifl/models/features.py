# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Features of images: the inputs of the last layer of a model."""

from collections.abc import Callable
import functools
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.models import keyed_dropout


class Features(NamedTuple):
  """Features of images, as functions of weights and images.

  Each function is built when it is first called.

  Attributes:
    size: The number of features of an image.
    train: (weights, images, seed=None, num_real=None) -> float32 [batch, size],
      in training mode, as `ImageClassifier.train_logits`.
    batch: (weights, images, num_real=None) -> the same, but nothing is dropped.
    infer: (weights, images) -> float32 [batch, size], in inference mode.
  """

  size: int
  train: Callable[..., tf.Tensor]
  batch: Callable[..., tf.Tensor]
  infer: Callable[..., tf.Tensor]


def plan(
  model: tf.keras.Model,
  create: Callable[..., Callable[..., tf.Tensor]],
  create_for_training: Callable[..., Callable[..., tf.Tensor]],
) -> Features | None:
  """Returns the features of a model; nothing is built yet.

  Args:
    model: The model.
    create: Creates a function of weights and images from the keyword argument
      `call_fn`, (clone of the model, images) -> what is computed.
    create_for_training: The same for training, maybe in another precision.

  Returns:
    The features, or None if the model's last layer is not dense.
  """
  last = model.layers[-1]
  if not isinstance(last, tf.keras.layers.Dense) or last.input.shape.rank != 2:
    return None

  def call(clone: tf.keras.Model, images: tf.Tensor, **kwargs) -> tf.Tensor:
    body = tf.keras.Model(clone.inputs, clone.layers[-1].input)
    return body(images, **kwargs)

  def call_without_dropout(
    clone: tf.keras.Model, images: tf.Tensor
  ) -> tf.Tensor:
    with keyed_dropout.turned_off():
      return call(clone, images, training=True)

  in_training = functools.partial(call, training=True)
  return Features(
    size=last.input.shape[-1],
    train=_when_called(create_for_training, in_training),
    batch=_when_called(create_for_training, call_without_dropout),
    infer=_when_called(create, functools.partial(call, training=False)),
  )


def require(features: Features | None) -> Features:
  """Returns the features.

  Args:
    features: Those of a model.

  Raises:
    ValueError: If there are none.
  """
  if features is None:
    raise ValueError(
      'there are no features: the last layer of this model is not dense.'
      ' Please choose another model.'
    )
  return features


def _when_called(create, call_fn) -> Callable[..., tf.Tensor]:
  """Returns a function that is created in its first call."""
  build = functools.cache(functools.partial(create, call_fn=call_fn))

  def function(*arguments, **options) -> tf.Tensor:
    # The call may be in the graph of a computation.
    with tf.init_scope():
      built = build()
    return built(*arguments, **options)

  return function
