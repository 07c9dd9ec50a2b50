# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Random choice of image operations with stateless randomness.

RandAugment (Cubuk et al., 2020) applies a few operations, drawn from a pool, to
each image. Its versions differ in pool, strengths and probabilities; this
module has the random choice, which they share.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import contextvars
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.randomness import random_draws


class Operation(NamedTuple):
  """An image operation, split into random parameters and a function.

  `draw` is (number of images, stateless seed) -> parameters, with one row for
  each image; `apply` is (float32 images [batch, height, width, 3] in 0..255,
  parameters) -> images; `can_be_compiled` is whether XLA can compile `apply`.
  """

  name: str
  draw: Callable[[tf.Tensor, tf.Tensor], Any]
  apply: Callable[[tf.Tensor, Any], tf.Tensor]
  can_be_compiled: bool = True


class NotCompiledError(ValueError):
  """XLA cannot compile an operation."""


def apply_random_operations(
  images: tf.Tensor,
  seed: tf.Tensor,
  *,
  operations: Sequence[Operation],
  num_operations: int,
  application_probability: float,
) -> tf.Tensor:
  """Applies operations to each image, drawn with replacement.

  Args:
    images: uint8 [batch, height, width, channels] with 1 or 3 channels. A
      single channel is repeated three times; one channel of the result is kept.
    seed: int32 [2], a stateless seed.
    application_probability: Probability in [0, 1] that a drawn operation is
      applied.
  """
  num_channels = images.shape[-1]
  if num_channels not in (1, 3):
    raise ValueError(
      'Images must have 1 or 3 channels to be augmented, found'
      f' {num_channels}.'
    )
  augmented = tf.cast(images, tf.float32)
  if num_channels == 1:
    augmented = tf.tile(augmented, [1, 1, 1, 3])

  def apply_one(step: tf.Tensor, augmented: tf.Tensor) -> tuple[tf.Tensor, ...]:
    augmented = _apply_one_each(
      augmented,
      random_draws.fold_in(seed, step),
      operations,
      application_probability,
    )
    # The next operation also takes whole gray levels.
    return step + 1, tf.floor(tf.clip_by_value(augmented, 0.0, 255.0))

  # A loop in the graph traces the pool only once.
  _, augmented = tf.while_loop(
    lambda step, _: step < num_operations, apply_one, (0, augmented)
  )
  augmented = tf.cast(augmented[..., :num_channels], tf.uint8)
  return tf.ensure_shape(augmented, images.shape)


def _apply_one_each(
  images: tf.Tensor,
  seed: tf.Tensor,
  operations: Sequence[Operation],
  application_probability: float,
) -> tf.Tensor:
  num_images = tf.shape(images)[0]
  choices = random_draws.integers(
    [num_images], random_draws.fold_in(seed, 0), least=0, bound=len(operations)
  )
  is_applied = (
    random_draws.uniform([num_images], random_draws.fold_in(seed, 1))
    < application_probability
  )
  return _apply.get()(
    images,
    # The index after the last operation leaves an image unchanged.
    tf.where(is_applied, choices, len(operations)),
    operations,
    [random_draws.fold_in(seed, 2 + index) for index in range(len(operations))],
  )


def _apply_in_groups(
  images: tf.Tensor,
  choices: tf.Tensor,
  operations: Sequence[Operation],
  seeds: Sequence[tf.Tensor],
) -> tf.Tensor:
  """Groups images by operation, applies the operations, restores the order.

  `choices`, int32 [batch], are indices of operations; `len(operations)` selects
  none.
  """
  num_groups = len(operations) + 1
  groups = tf.dynamic_partition(images, choices, num_groups)
  positions = tf.dynamic_partition(
    tf.range(tf.shape(images)[0]), choices, num_groups
  )
  for index, operation in enumerate(operations):
    group = groups[index]
    parameters = operation.draw(tf.shape(group)[0], seeds[index])
    # Some operations cannot be traced or run on an empty batch.
    groups[index] = tf.cond(
      tf.shape(group)[0] > 0,
      lambda g=group, p=parameters, o=operation: tf.ensure_shape(
        o.apply(g, p), g.shape
      ),
      lambda g=group: g,
    )
  return tf.ensure_shape(tf.dynamic_stitch(positions, groups), images.shape)


def _apply_to_all(
  images: tf.Tensor,
  choices: tf.Tensor,
  operations: Sequence[Operation],
  seeds: Sequence[tf.Tensor],
) -> tf.Tensor:
  """Like `_apply_in_groups`, but applies all operations to all images."""
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


_apply = contextvars.ContextVar('apply', default=_apply_in_groups)


def check_can_be_compiled(
  augment: augmentation.Augmentation, images: np.ndarray
) -> None:
  """Raises a `NotCompiledError` if XLA cannot compile an augmentation."""
  with tf.init_scope(), applying_to_all():
    augment(tf.constant(images), tf.constant([0, 0]))


@contextlib.contextmanager
def applying_to_all() -> Iterator[None]:
  """A context in which augmentations are traced for XLA.

  Each image goes through all operations, and the drawn result is selected.
  Results are the same, at many times the arithmetic, but no shape depends on
  random draws.
  """
  token = _apply.set(_apply_to_all)
  try:
    yield
  finally:
    _apply.reset(token)
