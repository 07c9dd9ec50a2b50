# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Features of images: the inputs of the last layer of a model."""

from collections.abc import Callable
import functools
from typing import NamedTuple

import tensorflow as tf


class Features(NamedTuple):
  """Features of images, as a function to be built.

  Attributes:
    size: Number of features of an image.
    build: ( -> function), which is (weights, images, seed=None) -> float32
      [batch, size], in training mode. The function is built in the first call,
      which must not be in a computation, and is the same in all others.
  """

  size: int
  build: Callable[[], Callable[..., tf.Tensor]]


def plan(
  model: tf.keras.Model, create: Callable[..., Callable[..., tf.Tensor]]
) -> Features | None:
  """Returns the features of a model; nothing is built yet.

  Args:
    model: The model.
    create: Creates a function of weights and images from the keyword argument
      `call_fn`, (clone of the model, images) -> what is computed.

  Returns:
    The features, or None if the model's last layer is not dense.
  """
  last = model.layers[-1]
  if not isinstance(last, tf.keras.layers.Dense) or last.input.shape.rank != 2:
    return None

  def call(clone: tf.keras.Model, images: tf.Tensor) -> tf.Tensor:
    body = tf.keras.Model(clone.inputs, clone.layers[-1].input)
    return body(images, training=True)

  return Features(
    size=last.input.shape[-1],
    build=functools.cache(functools.partial(create, call_fn=call)),
  )
