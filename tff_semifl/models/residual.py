# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Building blocks of SemiFL's residual networks.

Convolution, pre-activation block and classifier follow SemiFL's code where
initialization, padding or epsilon differ from FixMatch's or Keras's.
"""

import itertools

import tensorflow as tf

from tff_semifl.models import static_batch_norm
from tff_semifl.randomness import random_seeds


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


def uniform_by_inputs(seed: int) -> tf.keras.initializers.Initializer:
  """PyTorch's default: uniform up to 1 / sqrt(number of inputs)."""
  # A uniform variable between -b and b has variance b^2 / 3.
  return tf.keras.initializers.VarianceScaling(
    1 / 3, 'fan_in', 'uniform', seed=seed
  )


def convolve(
  x: tf.Tensor,
  filters: int,
  size: int,
  stride: int,
  initializer: tf.keras.initializers.Initializer,
) -> tf.Tensor:
  """Convolves without bias; 3x3 kernels pad one pixel on all sides.

  With a stride of 2, 'same' would pad even sizes on one side only. With a
  stride of 1, 'same' also pads all sides, without a padded copy.
  """
  if size == 3 and stride != 1:
    x = tf.keras.layers.ZeroPadding2D(1)(x)
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding='same' if size == 3 and stride == 1 else 'valid',
    use_bias=False,
    kernel_initializer=initializer,
  )(x)


def normalize_and_activate(x: tf.Tensor) -> tf.Tensor:
  """Applies static batch normalization and ReLU."""
  x = static_batch_norm.StaticBatchNormalization()(x)
  return tf.keras.layers.ReLU()(x)


def pre_activation_block(
  x: tf.Tensor, filters: int, stride: int, seeds: itertools.count
) -> tf.Tensor:
  """Applies a pre-activation residual block with two 3x3 convolutions.

  An identity shortcut takes the raw input, a projection takes the activated
  input. The first convolution and the projection have the given stride.
  """
  h = normalize_and_activate(x)
  if x.shape[-1] == filters and stride == 1:
    shortcut = x
  else:
    shortcut = convolve(h, filters, 1, stride, kaiming_normal(next(seeds)))
  h = convolve(h, filters, 3, stride, kaiming_normal(next(seeds)))
  h = normalize_and_activate(h)
  h = convolve(h, filters, 3, 1, kaiming_normal(next(seeds)))
  return tf.keras.layers.Add()([shortcut, h])
