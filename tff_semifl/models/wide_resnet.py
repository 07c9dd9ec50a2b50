# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Wide residual networks as SemiFL has them (B.1).

A WideResNet "depth x width" of Zagoruyko and Komodakis (BMVC 2016) with
pre-activation blocks. It follows SemiFL's code, down to initialisation,
padding and epsilon, where that differs from FixMatch's or Keras' (D19).
"""

import itertools
import math

import tensorflow as tf

from tff_semifl import random_seeds
from tff_semifl.models import static_batch_norm


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

  Normalising the pixels is part of the model, so that an exported model takes
  images as they come. As both are affine, mixing images before normalising
  equals mixing them after it.

  Args:
    input_shape: Height, width and channels of an image.
    num_classes: Number of logits.
    depth: Number of layers, 28 in the paper. `depth - 1` must be a multiple
      of `num_groups`, and the quotient odd: stem, pairs of convolutions and
      classifier then add up.
    width: Factor on the channels, 2 in the paper; group g has `16 * width *
      2**g` channels.
    pixel_mean: Mean of each channel, in 0..1.
    pixel_standard_deviation: Standard deviation of each channel, in 0..1.
    num_groups: Number of groups; each but the first halves height and width.
      By default as many as leave 8 pixels or a little more: 1 for 8, 2 for
      16, 3 for 32, 4 for 96.
    seed: The run's seed.

  Returns:
    A model from float32 [batch, height, width, channels] in 0..255 to float32
    [batch, num_classes]. With depth 28, width 2, 10 classes and 32x32x3
    images it has 1,467,610 trainable parameters.

  Raises:
    ValueError: If no network has that depth.
  """
  if num_groups is None:
    num_groups = max(int(math.log2(min(input_shape[:2]))) - 2, 1)
  pairs, rest = divmod((depth - 1) - num_groups, 2 * num_groups)
  if rest or pairs < 1:
    examples = [num_groups * (2 * n + 1) + 1 for n in range(1, 5)]
    raise ValueError(
      f'No WideResNet with {num_groups} groups has depth {depth}; possible'
      f' are {", ".join(map(str, examples))} and so on.'
    )
  if len(pixel_mean) != input_shape[2]:
    raise ValueError(
      f'`pixel_mean` has {len(pixel_mean)} values for {input_shape[2]}'
      ' channels.'
    )
  seeds = _layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = tf.keras.layers.Rescaling(
    [1 / (255 * s) for s in pixel_standard_deviation],
    [-m / s for m, s in zip(pixel_mean, pixel_standard_deviation, strict=True)],
  )(inputs)
  x = _convolution(x, 16, size=3, stride=1, seed=next(seeds))
  for group in range(num_groups):
    for block in range(pairs):
      stride = 2 if group > 0 and block == 0 else 1
      x = _residual_block(x, 16 * width * 2**group, stride, seeds)
  x = _normalize_and_activate(x)
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  logits = tf.keras.layers.Dense(
    num_classes,
    # PyTorch's default: uniform with bound 1 / sqrt(number of inputs).
    kernel_initializer=tf.keras.initializers.VarianceScaling(
      1 / 3, 'fan_in', 'uniform', seed=next(seeds)
    ),
  )(x)
  return tf.keras.Model(inputs, logits, name=f'wide_resnet_{depth}x{width}')


def _layer_seeds(seed: int) -> itertools.count:
  """Seeds for the layers' initialisers, different for each layer."""
  purpose = random_seeds.Purpose.INITIAL_WEIGHTS
  first = random_seeds.numpy_generator(seed, purpose).integers(2**30)
  return itertools.count(int(first))


def _convolution(
  x: tf.Tensor, filters: int, *, size: int, stride: int, seed: int
) -> tf.Tensor:
  """Convolution without bias, padded by one pixel on all sides if 3x3.

  Padding 'same' would pad even sizes on one side only when the stride is 2.
  """
  if size == 3:
    x = tf.keras.layers.ZeroPadding2D(1)(x)
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    use_bias=False,
    kernel_initializer=tf.keras.initializers.VarianceScaling(
      2.0, 'fan_out', 'untruncated_normal', seed=seed
    ),
  )(x)


def _normalize_and_activate(x: tf.Tensor) -> tf.Tensor:
  x = static_batch_norm.StaticBatchNormalization()(x)
  return tf.keras.layers.ReLU()(x)


def _residual_block(
  x: tf.Tensor, filters: int, stride: int, seeds: itertools.count
) -> tf.Tensor:
  """Pre-activation block.

  An identity shortcut takes the raw input, a projection the activated one.
  """
  h = _normalize_and_activate(x)
  if x.shape[-1] == filters and stride == 1:
    shortcut = x
  else:
    shortcut = _convolution(h, filters, size=1, stride=stride, seed=next(seeds))
  h = _convolution(h, filters, size=3, stride=stride, seed=next(seeds))
  h = _normalize_and_activate(h)
  h = _convolution(h, filters, size=3, stride=1, seed=next(seeds))
  return tf.keras.layers.Add()([shortcut, h])
