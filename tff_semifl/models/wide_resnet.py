# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL's WideResNet, and its building blocks.

Initialization, padding and epsilon are as in SemiFL's code. The defaults of
Keras and the code of FixMatch differ in part.

References:
  Zagoruyko, Komodakis. Wide residual networks. BMVC 2016.
"""

import itertools
import math

import tensorflow as tf

from tff_semifl.data import pixels
from tff_semifl.models import static_batch_norm
from tff_semifl.randomness import random_seeds


def default_num_groups(image_shape: tuple[int, int, int]) -> int:
  """The default number of groups of blocks; the last has at least 8x8 pixels.

  For 8x8, 16x16, 32x32 and 96x96 pixels there are 1, 2, 3 and 4 groups.
  """
  return max(int(math.log2(min(image_shape[:2]))) - 2, 1)


def count_blocks(
  image_shape: tuple[int, int, int], depth: int, num_groups: int | None
) -> tuple[int, int]:
  """The number of groups, by default `default_num_groups`, and blocks in each.

  The depth counts the stem, a projection in each group, and two convolutions in
  each block. `depth - 1` must thus be an odd multiple of `num_groups`.
  """
  if num_groups is None:
    num_groups = default_num_groups(image_shape)
  num_blocks, rest = divmod((depth - 1) - num_groups, 2 * num_groups)
  if rest or num_blocks < 1:
    examples = [num_groups * (2 * n + 1) + 1 for n in range(1, 5)]
    raise ValueError(
      f'No WideResNet with {num_groups} groups has depth {depth}; possible'
      f' are {", ".join(map(str, examples))} and so on.'
    )
  return num_groups, num_blocks


def create_wide_resnet(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  depth: int,
  width: int,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  num_groups: int | None = None,
  seed: int = 0,
) -> tf.keras.Model:
  """Creates a WideResNet from raw pixels to logits.

  `keras_conversion.convert` creates a variant with group normalization.

  Args:
    depth: One more than an odd multiple of `num_groups`.
    width: Factor on the channels, 2 in the paper; group g has `16 * width *
      2**g` channels.
    pixel_mean: Mean of each channel, in 0..1.
    num_groups: Groups of blocks; by default `default_num_groups`.

  Returns:
    A model from float32 [batch, height, width, channels] in 0..255 to float32
    [batch, num_classes]. At depth 28 and width 2, with 10 classes and 32x32x3
    images, the model has 1,467,610 trainable parameters.
  """
  num_groups, num_blocks = count_blocks(input_shape, depth, num_groups)
  seeds = layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize(inputs, pixel_mean, pixel_standard_deviation)
  x = convolve(x, 16, 3, 1, kaiming_normal(next(seeds)))
  for group in range(num_groups):
    for block in range(num_blocks):
      stride = 2 if group > 0 and block == 0 else 1
      filters = 16 * width * 2**group
      x = pre_activation_block(x, filters, stride, seeds)
  x = normalize_and_activate(x)
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  logits = tf.keras.layers.Dense(
    num_classes, kernel_initializer=uniform_by_inputs(next(seeds))
  )(x)
  return tf.keras.Model(inputs, logits, name=f'wide_resnet_{depth}x{width}')


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
  """PyTorch's default initializer: uniform within 1 / sqrt(inputs)."""
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

  A stride of 2 needs a padding layer: 'same' would pad even sizes on one side
  only. At a stride of 1, 'same' pads all sides without a padded copy.
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
