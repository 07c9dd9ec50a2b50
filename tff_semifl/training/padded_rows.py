# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rows of examples with padding at the end, for compiled loops."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tff_semifl.randomness import draws
from tff_semifl.randomness import random_draws
from tff_semifl.training import rows


class PaddedRows(rows.Rows):
  """A fixed number of rows, with padding at the end."""

  def __init__(self, examples: Any, number: tf.Tensor | None = None):
    """Initializes the rows.

    Args:
      examples: A structure of tensors, each with a row for each example and
        rows of padding after them.
      number: int32 scalar, the number of examples; by default all rows.
    """
    self.examples = examples
    self._num_rows = draws.count_rows(examples)
    self.number = self._num_rows if number is None else number

  @property
  def num_real(self) -> tf.Tensor:
    """The number of rows before the padding, int32 scalar."""
    return self.number

  @property
  def is_real(self) -> tf.Tensor:
    """Whether a row is before the padding, bool [rows]."""
    return tf.range(self._num_rows) < self.number

  def replace(self, examples: Any) -> 'PaddedRows':
    """Other examples with the same padding."""
    return PaddedRows(examples, self.number)

  def keep(self, is_kept: tf.Tensor) -> 'PaddedRows':
    """Moves the kept examples to the front; the others become padding."""
    is_kept &= self.is_real
    places = tf.range(self._num_rows)
    order = tf.argsort(tf.where(is_kept, places, places + self._num_rows))
    return PaddedRows(
      rows.gather(self.examples, order),
      tf.math.count_nonzero(is_kept, dtype=tf.int32),
    )

  def shuffle(self, seed: tf.Tensor) -> 'PaddedRows':
    """Shuffles the examples; the padding stays last."""
    order = random_draws.order(self._num_rows, seed, self.number)
    return self.replace(rows.gather(self.examples, order))

  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'PaddedRows':
    """Consecutive rows, filled up with padding at the end."""
    indices = tf.minimum(start + tf.range(size), self._num_rows - 1)
    return PaddedRows(
      rows.gather(self.examples, indices),
      tf.clip_by_value(self.number - start, 0, size),
    )

  def weigh(self, weights: rows.Weights = ()) -> rows.Weights:
    """Weights that are 0 for padding and scaled up for the other rows."""
    scale = tf.math.divide_no_nan(
      tf.cast(self._num_rows, tf.float32), tf.cast(self.number, tf.float32)
    )
    of_real = tf.cast(self.is_real, tf.float32) * scale
    return (of_real * weights[0] if weights else of_real,)

  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    """Applies a function to batches of one size, at most `size`."""
    num_batches = tf.maximum(-(-self._num_rows // size), 1)
    size = -(-self._num_rows // num_batches)
    results = tf.map_fn(
      lambda start: function(self.cut(start, size).examples),
      tf.range(num_batches) * size,
      fn_output_signature=tf.TensorSpec([None, width], tf.float32),
    )
    return tf.reshape(results, [-1, width])[: self._num_rows]
