# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sums over the images of a client, after which there may be padding.

Where shapes may not depend on how many images a client has, there are more rows
than images. What a method makes of one image at a time need not know; what it
makes of all of them together must leave the other rows out. These functions do.
"""

from collections.abc import Iterator
import contextlib
import contextvars

import tensorflow as tf

_NUM_IMAGES: contextvars.ContextVar[tf.Tensor | None] = contextvars.ContextVar(
  'num_images', default=None
)


@contextlib.contextmanager
def of_first(num_images: tf.Tensor | None) -> Iterator[None]:
  """Makes sums in this context those over the first rows alone.

  Args:
    num_images: int32 scalar, the number of these rows; None for all.
  """
  token = _NUM_IMAGES.set(num_images)
  try:
    yield
  finally:
    _NUM_IMAGES.reset(token)


def count(values: tf.Tensor) -> tf.Tensor:
  """Returns the number of images, a float32 scalar.

  Args:
    values: Any type, [rows, ...].
  """
  num_images = _NUM_IMAGES.get()
  if num_images is None:
    num_images = tf.shape(values)[0]
  return tf.cast(num_images, tf.float32)


def add_up(values: tf.Tensor) -> tf.Tensor:
  """Returns the sum over images, float32 [...]; 0 without any.

  Args:
    values: float32 [rows, ...].
  """
  num_images = _NUM_IMAGES.get()
  if num_images is not None:
    is_image = tf.range(tf.shape(values)[0]) < num_images
    ones = [1] * (values.shape.rank - 1)
    # Whatever rows of padding have, be it not a number, is left out.
    values = tf.where(tf.reshape(is_image, [-1, *ones]), values, 0.0)
  return tf.reduce_sum(values, axis=0)


def highest(values: tf.Tensor) -> tf.Tensor:
  """Returns the highest value of an image, a float32 scalar; 0 without any.

  Args:
    values: float32 [rows], at least 0.
  """
  num_images = _NUM_IMAGES.get()
  if num_images is not None:
    is_image = tf.range(tf.shape(values)[0]) < num_images
    values = tf.where(is_image, values, 0.0)
  return tf.maximum(tf.reduce_max(values), 0.0)


def mean(values: tf.Tensor) -> tf.Tensor:
  """Returns the mean over images, float32 [...]; 0 without any.

  Args:
    values: float32 [rows, ...].
  """
  return tf.math.divide_no_nan(add_up(values), count(values))
