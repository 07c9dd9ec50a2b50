# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Examples as rows of tensors, with padding in a loop that XLA compiles."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tff_semifl.randomness import random_draws


class Rows:
  """Tensors with a row for each example, possibly followed by padding.

  Attributes:
    examples: A structure of tensors, with a row for each example; some elements
      may be None.
    num_rows: int32 scalar, the number of rows, including padding.
    num_real: int32 scalar, the number of examples if there may be padding, else
      None.
    number: int32 scalar, the number of examples.
    is_real: bool [rows], false for padding; True without padding.
  """

  def __init__(self, examples: Any, num_real: tf.Tensor | None = None):
    self.examples = examples
    self.num_rows = random_draws.count_rows(examples)
    self.num_real = num_real
    self.number: tf.Tensor = self.num_rows if num_real is None else num_real
    self.is_real: tf.Tensor | bool = True
    if num_real is not None:
      self.is_real = tf.range(self.num_rows) < num_real

  def replace(self, examples: Any) -> 'Rows':
    """A copy with other examples, which have the same number of rows."""
    return Rows(examples, self.num_real)

  def keep(self, is_kept: tf.Tensor) -> 'Rows':
    """Removes examples where `is_kept`, bool [rows], is false.

    If rows may be padding, removed examples become padding.
    """
    if self.num_real is None:
      return Rows(gather(self.examples, tf.where(is_kept)[:, 0]))
    is_kept &= self.is_real
    places = tf.range(self.num_rows)
    order = tf.argsort(tf.where(is_kept, places, places + self.num_rows))
    return Rows(
      gather(self.examples, order),
      tf.math.count_nonzero(is_kept, dtype=tf.int32),
    )

  def shuffle(self, seed: tf.Tensor) -> 'Rows':
    """Shuffles the examples by `seed`, int32 [2]."""
    order = random_draws.order(self.num_rows, seed, self.num_real)
    return self.replace(gather(self.examples, order))

  def draw(self, number: tf.Tensor, seed: tf.Tensor) -> Any:
    """Draws `number` examples with replacement; without rows, `number` is 0."""
    bound = tf.maximum(self.number, 1)
    drawn = random_draws.integers([number], seed, least=0, bound=bound)
    return gather(self.examples, drawn)

  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'Rows':
    """Up to `size` consecutive examples from row `start`, an int32 scalar."""
    if self.num_real is None:
      stop = tf.minimum(start + size, self.number)
      return Rows(take(self.examples, start, stop))
    indices = tf.minimum(start + tf.range(size), self.num_rows - 1)
    return Rows(
      gather(self.examples, indices),
      tf.clip_by_value(self.num_real - start, 0, size),
    )

  def weigh(self, weights: tf.Tensor | None = None) -> tf.Tensor | None:
    """Weights that turn a mean over all rows into the mean over examples.

    `weights`, float32 [rows], are weights of the examples, by default equal.
    Padding gets weight 0; without padding, the result is `weights`.
    """
    if self.num_real is None:
      return weights
    scale = tf.math.divide_no_nan(
      tf.cast(self.num_rows, tf.float32), tf.cast(self.num_real, tf.float32)
    )
    of_real = tf.cast(self.is_real, tf.float32) * scale
    return of_real if weights is None else of_real * weights

  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    """Applies a function to batches of at most `size` rows.

    `function` maps examples to float32 [rows, width], one row for each example.
    """
    if self.num_real is not None:
      num_batches = tf.maximum(-(-self.num_rows // size), 1)
      even_size = -(-self.num_rows // num_batches)
      results = tf.map_fn(
        lambda start: function(self.cut(start, even_size).examples),
        tf.range(num_batches) * even_size,
        fn_output_signature=tf.TensorSpec([None, width], tf.float32),
      )
      return tf.reshape(results, [-1, width])[: self.num_rows]

    def add_batch(start: tf.Tensor, results: tf.Tensor):
      batch = take(self.examples, start, start + size)
      return start + size, tf.concat([results, function(batch)], axis=0)

    _, results = tf.while_loop(
      lambda start, _: start < self.number,
      add_batch,
      (0, tf.zeros([0, width], tf.float32)),
      shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, width])),
    )
    return results


def no_rows(shape: Sequence[int], dtype: Any) -> tf.Tensor:
  """An empty tensor, [0, *shape], to which a loop can append rows."""
  # A constant would have a fixed shape.
  return tf.compat.v1.placeholder_with_default(
    tf.zeros([0, *shape], dtype), [None, *shape]
  )


def take(examples: Any, start: Any, stop: Any) -> Any:
  """The rows `start:stop` of each tensor of `examples`."""
  return _map(lambda array: array[start:stop], examples)


def gather(examples: Any, rows: tf.Tensor) -> Any:
  """Gathers `rows`, integers [number], of each tensor of `examples`."""
  return _map(lambda array: tf.gather(array, rows), examples)


def _map(function: Callable[[tf.Tensor], tf.Tensor], examples: Any) -> Any:
  return tf.nest.map_structure(
    lambda array: None if array is None else function(array), examples
  )
