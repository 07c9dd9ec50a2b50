# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Examples in rows: as many rows as examples, or with padding.

The number of images that a client trains on is known only after labeling.
`AllRows` shrink to these images. `padded_rows.PaddedRows` keep their number of
rows, with padding last, so that a training loop can be compiled. Both have the
same order, batches and shuffles.
"""

import abc
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tff_semifl.randomness import draws

Weights = tuple[tf.Tensor, ...]
# (structure of tensors with a row for each example; int32 scalar, the number of
# examples, or None if all rows are) -> rows.
RowsFn = Callable[[Any, tf.Tensor | None], 'Rows']


class Rows(abc.ABC):
  """Tensors with a row for each example, and possibly rows of padding.

  Attributes:
    examples: A structure of tensors, each with a row for each example.
    number: int32 scalar, the number of examples.
    num_real: `number` if there may be padding, else None.
    is_real: bool [rows], false for padding; True if there is none.
  """

  examples: Any
  number: tf.Tensor
  num_real: tf.Tensor | None
  is_real: tf.Tensor | bool

  @abc.abstractmethod
  def replace(self, examples: Any) -> 'Rows':
    """Rows of other examples."""

  @abc.abstractmethod
  def keep(self, is_kept: tf.Tensor) -> 'Rows':
    """The examples for which `is_kept`, bool [rows], in their order."""

  @abc.abstractmethod
  def shuffle(self, seed: tf.Tensor) -> 'Rows':
    """Shuffles the examples by `seed`, int32 [2]."""

  @abc.abstractmethod
  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'Rows':
    """Up to `size` consecutive examples from row `start`, an int32 scalar."""

  @abc.abstractmethod
  def weigh(self, weights: Weights = ()) -> Weights:
    """Weights that make a mean over all rows one over the examples.

    Args:
      weights: (float32 [rows],), weights of the examples, or ().

    Returns:
      (float32 [rows],), or () if all examples count the same.
    """

  @abc.abstractmethod
  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    """Applies a function batch by batch.

    Args:
      function: Examples -> float32 [rows, width], each row from one example.
      width: The width of the results.
      size: The largest number of rows in a batch.
    """


class AllRows(Rows):
  """As many rows as there are examples."""

  num_real = None
  is_real = True

  def __init__(self, examples: Any, number: tf.Tensor | None = None):
    """Initializes the rows.

    Args:
      examples: A structure of tensors, each with a row for each example.
      number: int32 scalar, the number of rows to use; by default all.
    """
    if number is not None:
      examples = tf.nest.map_structure(lambda rows: rows[:number], examples)
    self.examples = examples
    self.number = draws.count_rows(examples)

  def replace(self, examples: Any) -> 'AllRows':
    """Rows of other examples."""
    return AllRows(examples)

  def keep(self, is_kept: tf.Tensor) -> 'AllRows':
    """The examples for which `is_kept`."""
    kept = tf.where(is_kept)[:, 0]
    return AllRows(gather(self.examples, kept))

  def shuffle(self, seed: tf.Tensor) -> 'AllRows':
    """Shuffles the examples."""
    return AllRows(draws.shuffle(self.examples, seed))

  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'AllRows':
    """Consecutive examples, fewer at the end."""
    stop = tf.minimum(start + size, self.number)
    return AllRows(
      tf.nest.map_structure(lambda rows: rows[start:stop], self.examples)
    )

  def weigh(self, weights: Weights = ()) -> Weights:
    """The weights as they are."""
    return weights

  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    """Applies a function to batches; the last may be smaller."""

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
  """Gathers rows, integers [number], of each tensor of `examples`."""
  return tf.nest.map_structure(lambda array: tf.gather(array, rows), examples)
