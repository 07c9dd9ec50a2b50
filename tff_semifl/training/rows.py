# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Examples in rows, with as many rows as there are examples, or with padding.

How many images a client is sure of is known when it has labeled them. `AllRows`
are then as many as these. `padded_rows.PaddedRows` keep the number of rows that
they had: the first ones count, and the others are there for the shape alone, so
that a whole turn can be compiled. All are in the same order, cut into the same
batches, and shuffled alike.
"""

import abc
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tff_semifl.randomness import draws

Weights = tuple[tf.Tensor, ...]
# (a structure of tensors with a row for each example; how many of the first
# rows are examples, int32 scalar, or None if all are) -> rows.
RowsFn = Callable[[Any, tf.Tensor | None], 'Rows']


class Rows(abc.ABC):
  """Examples in rows.

  Attributes:
    examples: A structure of tensors, each with a row for each example.
    number: int32 scalar, the number of examples.
    num_real: The same if there may be padding; None if there is none.
    is_real: bool [rows], false for padding; or True.
  """

  examples: Any
  number: tf.Tensor
  num_real: tf.Tensor | None
  is_real: tf.Tensor | bool

  @abc.abstractmethod
  def replace(self, examples: Any) -> 'Rows':
    """Returns rows of others, made one from each of these.

    Args:
      examples: A structure of tensors with as many rows.
    """

  @abc.abstractmethod
  def keep(self, is_kept: tf.Tensor) -> 'Rows':
    """Returns some of the examples, in their order.

    Args:
      is_kept: bool [rows], which of them.
    """

  @abc.abstractmethod
  def shuffle(self, seed: tf.Tensor) -> 'Rows':
    """Returns the examples in a new order.

    Args:
      seed: int32 [2], a stateless seed.
    """

  @abc.abstractmethod
  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'Rows':
    """Returns consecutive examples.

    Args:
      start: int32 scalar, the first of them.
      size: How many, or fewer at the end.
    """

  @abc.abstractmethod
  def weigh(self, weights: Weights = ()) -> Weights:
    """Returns weights with which a mean over all rows is that over examples.

    Args:
      weights: (float32 [rows],), what each example weighs itself, or ().

    Returns:
      (float32 [rows],), or () if all examples count the same.
    """

  @abc.abstractmethod
  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    """Applies a function of any number of rows, but not of too many at once.

    Args:
      function: Examples -> float32 [rows, width], each row from one example.
      width: See there.
      size: The most rows at once.

    Returns:
      float32 [rows, width].
    """


class AllRows(Rows):
  """As many rows as there are examples."""

  num_real = None
  is_real = True

  def __init__(self, examples: Any, number: tf.Tensor | None = None):
    """Initializes the rows.

    Args:
      examples: A structure of tensors, each with a row for each example.
      number: int32 scalar, how many of the first rows are examples; by default
        all are. The others are left out.
    """
    if number is not None:
      examples = tf.nest.map_structure(lambda rows: rows[:number], examples)
    self.examples = examples
    self.number = draws.count_rows(examples)

  def replace(self, examples: Any) -> 'AllRows':
    """Returns rows of other examples."""
    return AllRows(examples)

  def keep(self, is_kept: tf.Tensor) -> 'AllRows':
    """Returns some of the examples."""
    kept = tf.where(is_kept)[:, 0]
    return AllRows(gather(self.examples, kept))

  def shuffle(self, seed: tf.Tensor) -> 'AllRows':
    """Returns the examples in a new order."""
    return AllRows(draws.shuffle(self.examples, seed))

  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'AllRows':
    """Returns consecutive examples."""
    stop = tf.minimum(start + size, self.number)
    return AllRows(
      tf.nest.map_structure(lambda rows: rows[start:stop], self.examples)
    )

  def weigh(self, weights: Weights = ()) -> Weights:
    """Returns the weights as they are."""
    return weights

  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    """Applies a function to batches, of which the last may be smaller."""

    def add_batch(start: tf.Tensor, results: tf.Tensor):
      batch = tf.nest.map_structure(
        lambda rows: rows[start : start + size], self.examples
      )
      return start + size, tf.concat([results, function(batch)], axis=0)

    _, results = tf.while_loop(
      lambda start, _: start < self.number,
      add_batch,
      (0, tf.zeros([0, width], tf.float32)),
      shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, width])),
    )
    return results


def gather(examples: Any, rows: tf.Tensor) -> Any:
  """Returns some of the examples.

  Args:
    examples: A structure of tensors, each with a row for each example.
    rows: Integers [number], which of them.
  """
  return tf.nest.map_structure(lambda array: tf.gather(array, rows), examples)
