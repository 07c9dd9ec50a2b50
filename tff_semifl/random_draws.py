# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Random numbers that follow from stateless seeds.

By default TensorFlow's own operations draw them. Where XLA compiles these, some
make other numbers of the same bits, and others cannot be compiled. Within
`drawing_by(portable_draws.GENERATOR)` all are drawn by operations that give the
same numbers compiled or not. What is drawn does not depend on which it is.

The first numbers of a draw do not depend on how many are drawn, so that rows
that are only padding change nothing in the others.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import contextvars
from typing import NamedTuple

import tensorflow as tf

Shape = Sequence[tf.Tensor | int] | tf.Tensor


class Generator(NamedTuple):
  """A source of random numbers.

  Attributes:
    fold_in: (seed, int32 scalar) -> another seed.
    uniform: (shape, seed) -> float32 of that shape, in [0, 1).
    integers: (shape, seed, least, bound) -> int32 of that shape, in
      [least, bound).
    order: (number of rows, seed, how many of the first rows are put in a new
      order) -> int32 [rows], an index for each row.
    gamma: (number, seed, concentration) -> float32 [number], above 0.
  """

  fold_in: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
  uniform: Callable[[Shape, tf.Tensor], tf.Tensor]
  integers: Callable[
    [Shape, tf.Tensor, tf.Tensor | int, tf.Tensor | int], tf.Tensor
  ]
  order: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]
  gamma: Callable[[tf.Tensor | int, tf.Tensor, float], tf.Tensor]


def fold_in(seed: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
  """Returns another seed, int32 [2].

  Args:
    seed: int32 [2], a stateless seed.
    key: int32 scalar.
  """
  return _generator.get().fold_in(seed, key)


def uniform(shape: Shape, seed: tf.Tensor) -> tf.Tensor:
  """Draws from the uniform distribution.

  Args:
    shape: What is drawn.
    seed: int32 [2], a stateless seed.

  Returns:
    float32 of that shape, in [0, 1).
  """
  return _generator.get().uniform(shape, seed)


def integers(
  shape: Shape,
  seed: tf.Tensor,
  *,
  least: tf.Tensor | int,
  bound: tf.Tensor | int,
) -> tf.Tensor:
  """Draws integers, all equally likely.

  Args:
    shape: What is drawn.
    seed: int32 [2], a stateless seed.
    least: The least of them, an integer scalar.
    bound: One more than the largest, an integer scalar above `least`.

  Returns:
    int32 of that shape.
  """
  return _generator.get().integers(shape, seed, least, bound)


def order(
  num_rows: tf.Tensor, seed: tf.Tensor, num_real: tf.Tensor | None = None
) -> tf.Tensor:
  """Draws a new order of rows.

  Args:
    num_rows: int32 scalar.
    seed: int32 [2], a stateless seed.
    num_real: int32 scalar, how many of the first rows are put in a new order;
      the others stay where they are. By default all.

  Returns:
    int32 [num_rows]: which row is to stand at each place.
  """
  if num_real is None:
    num_real = num_rows
  return _generator.get().order(num_rows, seed, num_real)


def gamma(
  number: tf.Tensor | int, seed: tf.Tensor, *, concentration: float
) -> tf.Tensor:
  """Draws from a Gamma distribution of rate 1.

  Args:
    number: How many.
    seed: int32 [2], a stateless seed.
    concentration: Positive.

  Returns:
    float32 [number], above 0.
  """
  return _generator.get().gamma(number, seed, concentration)


@contextlib.contextmanager
def drawing_by(generator: Generator) -> Iterator[None]:
  """Makes what is traced in this context draw by another generator."""
  token = _generator.set(generator)
  try:
    yield
  finally:
    _generator.reset(token)


def _integers(shape, seed, least, bound) -> tf.Tensor:
  return tf.random.stateless_uniform(
    shape, seed, minval=least, maxval=bound, dtype=tf.int32
  )


def _order(num_rows, seed, num_real) -> tf.Tensor:
  real = tf.random.experimental.stateless_shuffle(tf.range(num_real), seed)
  if num_real is num_rows:
    return real
  return tf.concat([real, tf.range(num_real, num_rows)], axis=0)


def _gamma(number, seed, concentration) -> tf.Tensor:
  return tf.random.stateless_gamma([number], seed, alpha=concentration)


_generator = contextvars.ContextVar(
  'generator',
  default=Generator(
    fold_in=tf.random.experimental.stateless_fold_in,
    uniform=tf.random.stateless_uniform,
    integers=_integers,
    order=_order,
    gamma=_gamma,
  ),
)
