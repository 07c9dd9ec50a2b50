# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A client's training loop as one XLA program, with padding.

On a GPU one program for all steps of a round saves the launch of each small
operation; on a CPU it is slower. Results are the same as without XLA. XLA
compiles the program once for each number of rows, so rows are padded to a power
of two, and examples that are not selected become padding.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.augment import rand_augment
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.models import pure_functions
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws


class PaddedRows(rows_lib.Rows):
  """A fixed number of rows, with padding at the end."""

  def __init__(self, examples: Any, number: tf.Tensor | None = None):
    """Initializes rows; the first `number`, by default all, are examples."""
    super().__init__(examples)
    self._num_rows = self.number
    if number is not None:
      self.number = number
    self.num_real = self.number
    self.is_real = tf.range(self._num_rows) < self.number

  def replace(self, examples: Any) -> 'PaddedRows':
    return PaddedRows(examples, self.number)

  def keep(self, is_kept: tf.Tensor) -> 'PaddedRows':
    """Moves the kept examples to the front; the others become padding."""
    is_kept &= self.is_real
    places = tf.range(self._num_rows)
    order = tf.argsort(tf.where(is_kept, places, places + self._num_rows))
    return PaddedRows(
      rows_lib.gather(self.examples, order),
      tf.math.count_nonzero(is_kept, dtype=tf.int32),
    )

  def shuffle(self, seed: tf.Tensor) -> 'PaddedRows':
    order = random_draws.order(self._num_rows, seed, self.number)
    return self.replace(rows_lib.gather(self.examples, order))

  def cut(self, start: tf.Tensor, size: int | tf.Tensor) -> 'PaddedRows':
    indices = tf.minimum(start + tf.range(size), self._num_rows - 1)
    return PaddedRows(
      rows_lib.gather(self.examples, indices),
      tf.clip_by_value(self.number - start, 0, size),
    )

  def weigh(self, weights: rows_lib.Weights = ()) -> rows_lib.Weights:
    """Weights that are 0 for padding and scaled up for the other rows."""
    scale = tf.math.divide_no_nan(
      tf.cast(self._num_rows, tf.float32), tf.cast(self.number, tf.float32)
    )
    of_real = tf.cast(self.is_real, tf.float32) * scale
    return (of_real * weights[0] if weights else of_real,)

  def start_labels(self, most: tf.Tensor) -> 'LabelBuffer':
    return LabelBuffer(
      pseudo_labels.GivenLabels(
        tf.fill([most], pseudo_labels.PADDING),
        tf.zeros([most], tf.int32),
        tf.zeros([most], tf.float32),
      ),
      tf.constant(0),
    )

  def map_batches(
    self, function: Callable[[Any], tf.Tensor], *, width: int, size: int
  ) -> tf.Tensor:
    num_batches = tf.maximum(-(-self._num_rows // size), 1)
    size = -(-self._num_rows // num_batches)
    results = tf.map_fn(
      lambda start: function(self.cut(start, size).examples),
      tf.range(num_batches) * size,
      fn_output_signature=tf.TensorSpec([None, width], tf.float32),
    )
    return tf.reshape(results, [-1, width])[: self._num_rows]


class LabelBuffer(NamedTuple):
  """`GivenLabels` of a fixed number of elements.

  Attributes:
    labels: The labels, and padding after them.
    number: int32 scalar, the number of labels.
  """

  labels: pseudo_labels.GivenLabels
  number: tf.Tensor

  def extend(self, added: pseudo_labels.GivenLabels) -> 'LabelBuffer':
    """Appends `added`; the next call overwrites the padding of `added`."""
    places = self.number + tf.range(tf.shape(added.image)[0])
    return LabelBuffer(
      tf.nest.map_structure(
        lambda array, new: tf.tensor_scatter_nd_update(
          array, places[:, tf.newaxis], new
        ),
        self.labels,
        added,
      ),
      self.number
      + tf.math.count_nonzero(
        added.image > pseudo_labels.PADDING, dtype=tf.int32
      ),
    )

  def keep_if(self, is_kept: tf.Tensor) -> pseudo_labels.GivenLabels:
    """The labels without padding if `is_kept`, else none."""
    return self.labels.keep_if(is_kept)


def run(loop: Callable[[rows_lib.Rows], Any], examples: Any) -> Any:
  """Runs a loop on examples as one XLA program."""

  def compute(padded: Any, number: tf.Tensor) -> Any:
    with (
      random_draws.drawing_by(portable_draws.GENERATOR),
      rand_augment.applying_to_all(),
    ):
      return loop(PaddedRows(padded, number))

  compiled = tf.function(pure_functions.as_it_is(compute), jit_compile=True)
  return compiled(*pad(examples))


def pad(examples: Any) -> tuple[Any, tf.Tensor]:
  """Pads `examples`, tensors with a row for each example, to 2^n rows.

  Returns:
    The structure, padded with copies of the last example (without examples, one
    row of zeros), and the number of examples, an int32 scalar.
  """
  number = random_draws.count_rows(examples)
  # Sets all lower bits of the last index: a power of two minus 1.
  last = tf.maximum(number, 1) - 1
  for num_bits in (1, 2, 4, 8, 16):
    last |= tf.bitwise.right_shift(last, num_bits)
  rows = tf.minimum(tf.range(last + 1), tf.maximum(number, 1) - 1)

  def pad_rows(array: tf.Tensor) -> tf.Tensor:
    one_more = [[0, 1]] + [[0, 0]] * (array.shape.rank - 1)
    return tf.gather(tf.pad(array, one_more), rows)

  return tf.nest.map_structure(pad_rows, examples), number
