# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Building blocks of SemiFL's residual networks.

Convolution, pre-activation block and classifier follow SemiFL's code where
initialization, padding or epsilon differ from FixMatch's or Keras's.
"""

from collections.abc import Callable
import itertools

import tensorflow as tf

from tff_semifl.models import static_batch_norm
from tff_semifl.randomness import random_seeds

# Maps a number of channels to a normalization layer.
Normalization = Callable[[int], tf.keras.layers.Layer]
# Maps (filters, size, stride, padding, seed) to a convolution without bias. The
# padding is 'valid' or 'same'.
Convolution = Callable[[int, int, int, str, int], tf.keras.layers.Layer]

# PyTorch's default, as for static batch normalization; Keras has 1e-3.
GROUP_NORM_EPSILON = 1e-5
# As in every layer of Zhang et al.'s code.
_MAX_GROUPS = 32


def create_static_batch_norm(num_channels: int) -> tf.keras.layers.Layer:
  """SemiFL's static batch normalization."""
  del num_channels
  return static_batch_norm.StaticBatchNormalization()


def create_group_norm(num_channels: int) -> tf.keras.layers.Layer:
  """Group normalization, which needs no batch statistics.

  There are 32 groups, as in the code of Zhang et al., or the largest smaller
  number that divides the channels: 16 groups of 16 channels, 24 of 48.

  References:
    Wu, He. Group normalization. ECCV 2018.
  """
  num_groups = next(
    groups
    for groups in range(min(_MAX_GROUPS, num_channels), 0, -1)
    if num_channels % groups == 0
  )
  return tf.keras.layers.GroupNormalization(
    num_groups, epsilon=GROUP_NORM_EPSILON
  )


def layer_seeds(seed: int) -> itertools.count:
  """Distinct seeds for the layers' initializers, from the run's seed."""
  purpose = random_seeds.Purpose.INITIAL_WEIGHTS
  first = random_seeds.numpy_generator(seed, purpose).integers(2**30)
  return itertools.count(int(first))


def kaiming_normal(seed: int) -> tf.keras.initializers.Initializer:
  """The kernel initializer: Kaiming normal by fan-out, not truncated."""
  return tf.keras.initializers.VarianceScaling(
    2.0, 'fan_out', 'untruncated_normal', seed=seed
  )


def create_plain_convolution(
  filters: int, size: int, stride: int, padding: str, seed: int
) -> tf.keras.layers.Layer:
  """Creates a convolution with one kernel, as `Convolution` requires."""
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding=padding,
    use_bias=False,
    kernel_initializer=kaiming_normal(seed),
  )


def convolve(
  x: tf.Tensor,
  filters: int,
  *,
  size: int,
  stride: int,
  seed: int,
  create_convolution: Convolution = create_plain_convolution,
) -> tf.Tensor:
  """Convolves without bias; 3x3 kernels pad one pixel on all sides.

  With a stride of 2, 'same' would pad even sizes on one side only. With a
  stride of 1, 'same' pads all sides, too, and makes no padded copy.
  """
  padding = 'same' if size == 3 and stride == 1 else 'valid'
  if size == 3 and stride != 1:
    x = tf.keras.layers.ZeroPadding2D(1)(x)
  return create_convolution(filters, size, stride, padding, seed)(x)


def normalize_and_activate(
  x: tf.Tensor, create_normalization: Normalization
) -> tf.Tensor:
  """Normalizes and applies ReLU."""
  x = create_normalization(x.shape[-1])(x)
  return tf.keras.layers.ReLU()(x)


def pre_activation_block(
  x: tf.Tensor,
  filters: int,
  *,
  stride: int,
  create_normalization: Normalization,
  create_convolution: Convolution = create_plain_convolution,
  seeds: itertools.count,
) -> tf.Tensor:
  """Applies a pre-activation residual block with two 3x3 convolutions.

  An identity shortcut takes the raw input, a projection the activated input.
  The first convolution and the projection have the given stride.
  """

  def apply(x: tf.Tensor, size: int, stride: int) -> tf.Tensor:
    return convolve(
      x,
      filters,
      size=size,
      stride=stride,
      seed=next(seeds),
      create_convolution=create_convolution,
    )

  h = normalize_and_activate(x, create_normalization)
  if x.shape[-1] == filters and stride == 1:
    shortcut = x
  else:
    shortcut = apply(h, 1, stride)
  h = apply(h, 3, stride)
  h = normalize_and_activate(h, create_normalization)
  h = apply(h, 3, 1)
  return tf.keras.layers.Add()([shortcut, h])


def classify(
  x: tf.Tensor,
  num_classes: int,
  *,
  create_normalization: Normalization,
  seeds: itertools.count,
) -> tf.Tensor:
  """Normalizes, applies ReLU, averages over pixels and maps to logits."""
  x = normalize_and_activate(x, create_normalization)
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  return tf.keras.layers.Dense(
    num_classes,
    # PyTorch's default: uniform with bound 1 / sqrt(number of inputs).
    kernel_initializer=tf.keras.initializers.VarianceScaling(
      1 / 3, 'fan_in', 'uniform', seed=next(seeds)
    ),
  )(x)
