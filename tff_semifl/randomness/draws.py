# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Random draws of examples: shuffled epochs, and batches of epochs."""

from typing import Any

import tensorflow as tf

from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds


def shuffle(examples: Any, seed: tf.Tensor) -> Any:
  """Shuffles examples, a structure of tensors with one row each, alike."""
  order = random_draws.order(count_rows(examples), seed)
  return tf.nest.map_structure(lambda rows: tf.gather(rows, order), examples)


def draw_with_replacement(
  examples: Any,
  number: tf.Tensor,
  seed: tf.Tensor,
  *,
  num_real: tf.Tensor | None = None,
) -> Any:
  """Draws examples uniformly with replacement.

  `examples` are a structure of tensors with a row for each example, of which
  the first `num_real` are drawn from, by default all. `number` is 0 without
  examples.
  """
  if num_real is None:
    num_real = count_rows(examples)
  drawn = random_draws.integers(
    [number], seed, least=0, bound=tf.maximum(num_real, 1)
  )
  return tf.nest.map_structure(lambda rows: tf.gather(rows, drawn), examples)


def select_batch(
  num_images: tf.Tensor,
  batch_size: int,
  num_before: tf.Tensor,
  order_seed: tf.Tensor,
) -> tf.Tensor:
  """A batch of a sequence of shuffled epochs; the last of an epoch is smaller.

  `num_before` is the number of batches before, `order_seed` the seed of all
  epochs' orders. Returns indices of images, int32 [batch].
  """
  num_batches = tf.maximum(-(-num_images // batch_size), 1)
  start = num_before % num_batches * batch_size
  order = random_draws.order(
    num_images, random_seeds.fold_in(order_seed, num_before // num_batches)
  )
  return order[start : start + batch_size]


def select_from_stream(
  num_images: tf.Tensor,
  batch_size: int,
  step: tf.Tensor,
  order_seed: tf.Tensor,
) -> tf.Tensor:
  """A batch of a stream of shuffled epochs; batches may span two epochs.

  `step` is the number of batches before, `order_seed` the seed of all epochs'
  orders. Returns indices of at least one image, int32 [batch_size].
  """
  first = step * batch_size
  last = first + batch_size - 1
  orders = tf.map_fn(
    lambda epoch: random_draws.order(
      num_images, random_seeds.fold_in(order_seed, epoch)
    ),
    tf.range(first // num_images, last // num_images + 1),
  )
  start = first % num_images
  return tf.reshape(orders, [-1])[start : start + batch_size]


def count_rows(examples: Any) -> tf.Tensor:
  """The number of rows of a structure of tensors, an int32 scalar."""
  return tf.shape(tf.nest.flatten(examples)[0])[0]
