# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Examples as rows of tensors: selection, shuffling and batches."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tff_semifl.core import pseudo_labels
from tff_semifl.randomness import random_draws

Weights = tuple[tf.Tensor, ...]


class Rows:
  """Tensors with a row for each example.

  In a loop that XLA compiles, padding follows the examples
  (`compiled_loop.PaddedRows`).

  Attributes:
    examples: A structure of tensors, each with a row for each example.
    number: int32 scalar, the number of examples.
    num_real: `number` if there may be padding, else None.
    is_real: bool [rows], false for padding; True if there is none.
  """

  num_real: tf.Tensor | None = None
  is_real: tf.Tensor | bool = True

  def __init__(self, examples: Any):
    self.examples = examples
    self.number = random_draws.count_rows(examples)

  def replace(self, examples: Any) -> 'Rows':
    """As many rows of other examples."""
    return Rows(examples)

  def keep(self, is_kept: tf.Tensor) -> 'Rows':
    """The examples for which `is_kept`, bool [rows], in their order."""
    return Rows(gather(self.examples, tf.where(is_kept)[:, 0]))

  def shuffle(self, seed: tf.Tensor) -> 'Rows':
    """Shuffles the examples by `seed`, int32 [2]."""
    return Rows(random_draws.shuffle(self.examples, seed))

  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'Rows':
    """Up to `size` consecutive examples from row `start`, an int32 scalar."""
    stop = tf.minimum(start + size, self.number)
    return Rows(take(self.examples, start, stop))

  def weigh(self, weights: Weights = ()) -> Weights:
    """Weights that turn a mean over all rows into the mean over examples.

    Args:
      weights: (float32 [rows],), weights of the examples, or ().

    Returns:
      (float32 [rows],), or () if all examples count the same.
    """
    return weights

  def start_labels(self, most: tf.Tensor) -> pseudo_labels.GivenLabels | Any:
    """An empty store of labels, to be extended in a loop up to `most`."""
    del most
    return pseudo_labels.no_given_labels()

  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    """Applies a function batch by batch.

    Args:
      function: Examples -> float32 [rows, width], each row from one example.
      width: The width of the results.
      size: The largest number of rows in a batch.
    """

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


def take(examples: Any, start: Any, stop: Any) -> Any:
  """The rows from `start` to before `stop` of each tensor of `examples`."""
  return tf.nest.map_structure(lambda array: array[start:stop], examples)


def gather(examples: Any, rows: tf.Tensor) -> Any:
  """Gathers rows, integers [number], of each tensor of `examples`."""
  return tf.nest.map_structure(lambda array: tf.gather(array, rows), examples)
