# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""RandAugment for any pool of image operations, with stateless randomness.

RandAugment (Cubuk et al., 2020) applies a few operations, drawn from a pool, to
each image. Versions of RandAugment differ in pool, strengths and probabilities.
"""

from collections.abc import Callable, Sequence
import contextvars
from typing import Any, NamedTuple

import tensorflow as tf

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


def apply_random_operations(
  images: tf.Tensor,
  seed: tf.Tensor,
  *,
  operations: Sequence[Operation],
  num_operations: int,
  application_probability: float,
) -> tf.Tensor:
  """Applies randomly drawn operations to each image, with replacement.

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
  return APPLY.get()(
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


# How drawn operations are applied to a batch; `compiled_steps` has another way.
APPLY = contextvars.ContextVar('apply', default=_apply_in_groups)
