# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Random numbers from stateless seeds, compiled by XLA or not.

By default, TensorFlow's operations draw the numbers. With XLA, some of these
operations draw different numbers, and some cannot be compiled. Code traced
within `drawing_by(portable_draws)` draws the same numbers with XLA as without.

The first numbers of a draw do not depend on the size of the draw. Therefore
padding does not change the numbers of other rows.
"""

from collections.abc import Iterator, Sequence
import contextlib
import contextvars
import math
import types
from typing import Any

import tensorflow as tf

Shape = Sequence[tf.Tensor | int] | tf.Tensor


def fold_in(seed: tf.Tensor, key: tf.Tensor | int) -> tf.Tensor:
  """Derives a stateless seed, int32 [2], from a seed and an integer scalar."""
  return _source.get().fold_in(seed, tf.cast(key, tf.int32))


def uniform(shape: Shape, seed: tf.Tensor) -> tf.Tensor:
  """Draws float32 of a shape, uniform in [0, 1)."""
  return _source.get().uniform(shape, seed)


def integers(
  shape: Shape, seed: tf.Tensor, *, least: int, bound: tf.Tensor | int
) -> tf.Tensor:
  """Draws int32 of a shape, uniform in [least, bound)."""
  return _source.get().integers(shape, seed, least, bound)


def order(
  num_rows: tf.Tensor, seed: tf.Tensor, num_real: tf.Tensor | None = None
) -> tf.Tensor:
  """Draws a permutation of rows, int32 [num_rows].

  Rows from `num_real` on keep their places; by default all rows are permuted.
  """
  real = num_rows if num_real is None else num_real
  return _source.get().order(num_rows, seed, real)


def normal(shape: Shape, seed: tf.Tensor) -> tf.Tensor:
  """Draws standard normal float32 of a shape (Box and Muller, 1958)."""
  # In (0, 1], for the logarithm.
  squared_radius = -2.0 * tf.math.log(1.0 - uniform(shape, fold_in(seed, 0)))
  angle = 2.0 * math.pi * uniform(shape, fold_in(seed, 1))
  return tf.sqrt(squared_radius) * tf.cos(angle)


def beta(
  number: tf.Tensor | int, seed: tf.Tensor, *, concentration: float
) -> tf.Tensor:
  """Draws float32 [number] in [0, 1] from Beta(concentration, concentration).

  If a is the concentration, and G and G' are from Gamma(a), G / (G + G') has
  this distribution. G is drawn as H * U^(1/a), with H from Gamma(a + 1) and U
  uniform. Logarithms are used, because powers underflow for small a.
  """
  gammas = _source.get().gamma(2 * number, seed, concentration + 1.0)
  # In (0, 1], for the logarithm.
  uniforms = 1.0 - uniform([number, 2], fold_in(seed, 0))
  of_gammas, of_uniforms = (
    tf.math.log(values[:, 0]) - tf.math.log(values[:, 1])
    for values in (
      tf.reshape(gammas, [number, 2]),
      tf.cast(uniforms, tf.float64),
    )
  )
  log_odds = of_gammas + of_uniforms / concentration
  return tf.cast(tf.sigmoid(log_odds), tf.float32)


@contextlib.contextmanager
def drawing_by(source: types.ModuleType) -> Iterator[None]:
  """A context in which traced code draws with the functions of `source`."""
  token = _source.set(source)
  try:
    yield
  finally:
    _source.reset(token)


def _order(num_rows, seed, num_real) -> tf.Tensor:
  real = tf.random.experimental.stateless_shuffle(tf.range(num_real), seed)
  if num_real is num_rows:
    return real
  return tf.concat([real, tf.range(num_real, num_rows)], axis=0)


# TensorFlow's own operations, with the names of those of `portable_draws`.
_source = contextvars.ContextVar(
  'source',
  default=types.SimpleNamespace(
    fold_in=tf.random.experimental.stateless_fold_in,
    uniform=tf.random.stateless_uniform,
    integers=lambda shape, seed, least, bound: tf.random.stateless_uniform(
      shape, seed, minval=least, maxval=bound, dtype=tf.int32
    ),
    order=_order,
    gamma=lambda number, seed, concentration: tf.random.stateless_gamma(
      [number], seed, alpha=concentration, dtype=tf.float64
    ),
  ),
)


# The seed of dropout layers, int32 [2].
dropout_seed = contextvars.ContextVar('dropout_seed', default=None)
# A value of `dropout_seed` that turns dropout off.
NO_DROPOUT = object()


@contextlib.contextmanager
def dropping_by(seed: tf.Tensor | object) -> Iterator[None]:
  """A context with a seed for dropout layers, or with `NO_DROPOUT`."""
  token = dropout_seed.set(seed)
  try:
    yield
  finally:
    dropout_seed.reset(token)


def select_from_stream(
  num_images: tf.Tensor, batch_size: int, step: tf.Tensor, order_seed: tf.Tensor
) -> tf.Tensor:
  """Indices of the images in batch number `step`, int32 [batch].

  Epochs are shuffled; a batch may span several. `num_images` is at least 1.
  """
  first = step * batch_size
  last = first + batch_size - 1
  orders = tf.map_fn(
    lambda epoch: order(num_images, fold_in(order_seed, epoch)),
    tf.range(first // num_images, last // num_images + 1),
  )
  start = first % num_images
  return tf.reshape(orders, [-1])[start : start + batch_size]


def count_rows(examples: Any) -> tf.Tensor:
  """The number of rows of a structure of tensors, an int32 scalar."""
  return tf.shape(tf.nest.flatten(examples)[0])[0]
