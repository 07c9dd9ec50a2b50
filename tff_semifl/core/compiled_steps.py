# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Local training as one XLA program: padding, labels and augmentation.

On a GPU, one program for all steps of a round saves the launches of many small
operations; on a CPU, XLA is slower. Results with and without XLA differ only by
the order of sums. XLA compiles a program for each number of rows. Therefore
rows are padded to a power of two, and unselected examples become padding.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import rand_augment
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows
from tff_semifl.models import pure_functions
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws

GivenLabels, _PADDING = pseudo_labels.GivenLabels, pseudo_labels.PADDING


class NotCompiledError(ValueError):
  """XLA cannot compile an augmentation."""


def run_compiled(loop: Callable[[rows.Rows], Any], examples: Any) -> Any:
  """Runs a loop on examples as one XLA program."""

  def compute(padded: Any, number: tf.Tensor) -> Any:
    with portably():
      return loop(rows.Rows(padded, number))

  compiled = tf.function(pure_functions.as_it_is(compute), jit_compile=True)
  return compiled(*pad(examples))


@contextlib.contextmanager
def portably() -> Iterator[None]:
  """A context in which XLA can compile random draws and augmentation."""
  with random_draws.drawing_by(portable_draws), applying_to_all():
    yield


def pad(examples: Any) -> tuple[Any, tf.Tensor]:
  """Pads the tensors of `examples` to the next power of two of rows.

  Returns:
    The padded structure, and the number of examples, an int32 scalar. Padding
    copies the last example; without examples, padding is one row of zeros.
  """
  number = random_draws.count_rows(examples)
  # Setting all lower bits of the last index gives a power of two minus 1.
  last = tf.maximum(number, 1) - 1
  for num_bits in (1, 2, 4, 8, 16):
    last |= tf.bitwise.right_shift(last, num_bits)
  order = tf.minimum(tf.range(last + 1), tf.maximum(number, 1) - 1)

  def pad_rows(array: tf.Tensor | None) -> tf.Tensor | None:
    if array is None:
      return None
    one_more = [[0, 1]] + [[0, 0]] * (array.shape.rank - 1)
    return tf.gather(tf.pad(array, one_more), order)

  return tf.nest.map_structure(pad_rows, examples), number


def check_can_be_compiled(
  augment: augmentation.Augmentation, images: np.ndarray
) -> None:
  """Raises a `NotCompiledError` if XLA cannot compile an augmentation."""
  with tf.init_scope(), applying_to_all():
    augment(tf.constant(images), tf.constant([0, 0]))


@contextlib.contextmanager
def applying_to_all() -> Iterator[None]:
  """A context in which augmentations are traced for XLA.

  All operations are applied to each image, and the drawn operation's result is
  selected. Thus no shape depends on random draws. Results stay the same.
  """
  token = rand_augment.APPLY.set(_apply_to_all)
  try:
    yield
  finally:
    rand_augment.APPLY.reset(token)


def _apply_to_all(
  images: tf.Tensor,
  choices: tf.Tensor,
  operations: Sequence[rand_augment.Operation],
  seeds: Sequence[tf.Tensor],
) -> tf.Tensor:
  refused = [each.name for each in operations if not each.can_be_compiled]
  if refused:
    raise NotCompiledError(
      f'XLA cannot compile {", ".join(refused)} of the strong augmentation;'
      ' choose another --strong_augmentation, such as fixmatch'
    )
  num_images = tf.shape(images)[0]
  is_drawn = tf.equal(choices[:, tf.newaxis], tf.range(len(operations)))
  # The index of an image in its group selects its parameters.
  places = tf.cumsum(tf.cast(is_drawn, tf.int32), axis=0, exclusive=True)
  augmented = images
  for index, operation in enumerate(operations):
    parameters = tf.nest.map_structure(
      lambda drawn, place=places[:, index]: tf.gather(drawn, place),
      operation.draw(num_images, seeds[index]),
    )
    augmented = tf.where(
      is_drawn[:, index, tf.newaxis, tf.newaxis, tf.newaxis],
      operation.apply(images, parameters),
      augmented,
    )
  return tf.ensure_shape(augmented, images.shape)


class LabelBuffer(NamedTuple):
  """`GivenLabels` of a fixed size, for loops that XLA compiles.

  The first elements of `labels` are pseudo-labels, the rest is padding.
  `number`, an int32 scalar, is the number of pseudo-labels.
  """

  labels: GivenLabels
  number: tf.Tensor

  @classmethod
  def create(cls, size: tf.Tensor) -> 'LabelBuffer':
    """An empty buffer for `size` labels, an int32 scalar."""
    image = tf.fill([size], _PADDING)
    return cls(
      GivenLabels(image, tf.zeros([size], tf.int32), tf.zeros([size])),
      tf.constant(0),
    )

  def extend(self, added: GivenLabels) -> 'LabelBuffer':
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
      + tf.math.count_nonzero(added.image > _PADDING, dtype=tf.int32),
    )

  def keep_if(self, is_kept: tf.Tensor) -> GivenLabels:
    """The labels without padding; no labels unless `is_kept`."""
    return self.labels.keep_if(is_kept)
