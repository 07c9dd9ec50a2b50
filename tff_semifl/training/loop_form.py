# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Two forms of a client's training loop, which compute the same.

In the dynamic form, the default, tensors have as many rows as needed. The
compiled form is one XLA program for all steps of a round, which on a GPU saves
the launch of each small operation, but is slower on a CPU. Rows that are not
needed are padding. XLA compiles the program once for each number of rows, so
that images are padded to a power of two.
"""

from collections.abc import Callable
import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import rand_augment
from tff_semifl.models import tracing
from tff_semifl.randomness import draws
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import padded_rows
from tff_semifl.training import rows as rows_lib


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopForm:
  """The form of a training loop.

  Attributes:
    run: (loop, examples) -> the result of the loop, a function of `Rows` of the
      examples. Examples are a structure of tensors with a row each.
    has_padding: Whether rows may be padding.
    make_room: (no labels, int32 scalar) -> labels that can be extended in the
      loop to this number.
    check_views: (augmentation, an image in a batch) -> None. Raises an error
      for an augmentation that this form cannot apply.
  """

  run: Callable[[Callable[[rows_lib.Rows], Any], Any], Any]
  has_padding: bool
  make_room: Callable[
    [given_labels_lib.KeptLabels, tf.Tensor], given_labels_lib.KeptLabels
  ]
  check_views: Callable[[augmentation.Augmentation, np.ndarray], None] = (
    lambda augment, images: None
  )


def _compile(loop: Callable[[rows_lib.Rows], Any], examples: Any) -> Any:
  """Runs a loop as one XLA program."""

  def compute(padded: Any, number: tf.Tensor) -> Any:
    with (
      random_draws.drawing_by(portable_draws.GENERATOR),
      rand_augment.applying_to_all(),
    ):
      return loop(padded_rows.PaddedRows(padded, number))

  run = tf.function(tracing.as_it_is(compute), jit_compile=True)
  return run(*pad(examples))


def pad(examples: Any) -> tuple[Any, tf.Tensor]:
  """Pads examples to a power of two rows.

  Args:
    examples: A structure of tensors, each with a row for each example.

  Returns:
    The structure, padded with copies of the last example, or one row of zeros
    without any; and the number of examples, an int32 scalar.
  """
  number = draws.count_rows(examples)
  # Sets all lower bits of the last index: a power of two minus 1.
  last = tf.maximum(number, 1) - 1
  for num_bits in (1, 2, 4, 8, 16):
    last |= tf.bitwise.right_shift(last, num_bits)
  rows = tf.minimum(tf.range(last + 1), tf.maximum(number, 1) - 1)

  def pad(array: tf.Tensor) -> tf.Tensor:
    one_more = [[0, 1]] + [[0, 0]] * (array.shape.rank - 1)
    return tf.gather(tf.pad(array, one_more), rows)

  return tf.nest.map_structure(pad, examples), number


def _make_room(
  labels: given_labels_lib.KeptLabels, number: tf.Tensor
) -> given_labels_lib.KeptLabels:
  if labels == given_labels_lib.NOT_KEPT:
    return labels
  return given_labels_lib.make_room(number)


DYNAMIC = LoopForm(
  run=lambda loop, examples: loop(rows_lib.AllRows(examples)),
  has_padding=False,
  make_room=lambda labels, number: labels,
)
COMPILED = LoopForm(
  run=_compile,
  has_padding=True,
  make_room=_make_room,
  check_views=rand_augment.check_can_be_compiled,
)
