# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Residual networks with pre-activation blocks, of SemiFL and FixMatch.

The WideResNet "depth x width" is by Zagoruyko and Komodakis (BMVC 2016). The
ResNets, with four stages of 64 to 512 channels, are in the repository of
SemiFL's authors, but not in the paper.

References:
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. Its authors' code, `libml/models.py`.
"""

import itertools
import math

import tensorflow as tf

from tff_semifl.models import pixels
from tff_semifl.models import residual
from tff_semifl.models import static_batch_norm

# Blocks per stage by depth. The authors' "ResNet-9" has 10 layers.
_BLOCKS_PER_STAGE = {9: 1, 18: 2}
_STAGE_FILTERS = (64, 128, 256, 512)
# FixMatch's values; the epsilon is the default of TensorFlow's layers.
_LEAK = 0.1
_EPSILON = 1e-3


def default_num_groups(image_shape: tuple[int, int, int]) -> int:
  """The default number of groups, so that the last has 8x8 pixels or more.

  Images of 8x8 pixels have 1 group; 16x16, 2; 32x32, 3; 96x96, 4.
  """
  return max(int(math.log2(min(image_shape[:2]))) - 2, 1)


def count_blocks(
  image_shape: tuple[int, int, int], depth: int, num_groups: int | None = None
) -> tuple[int, int]:
  """The number of groups (by default `default_num_groups`) and blocks in each.

  `depth - 1` must be an odd multiple of `num_groups`: stem, pairs of
  convolutions and classifier. Each group but the first halves height and width.
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
  create_normalization: residual.Normalization = (
    residual.create_static_batch_norm
  ),
  create_convolution: residual.Convolution = residual.create_plain_convolution,
  seed: int = 0,
) -> tf.keras.Model:
  """Creates a WideResNet from raw pixels to logits.

  Args:
    input_shape: Height, width and channels of an image.
    num_classes: Number of logits.
    depth: See `count_blocks`.
    width: Factor on the channels, 2 in the paper; group g has `16 * width *
      2**g` channels.
    pixel_mean: Mean of each channel, in 0..1.
    pixel_standard_deviation: Standard deviation of each channel, in 0..1.
    num_groups: See `count_blocks`.
    create_normalization: Maps a number of channels to a normalization layer,
      such as `residual.create_group_norm`.
    create_convolution: Creates all convolutions, for example
      `fedmatch_networks.create_decomposed_convolution`.
    seed: The run's seed.

  Returns:
    A model from float32 [batch, height, width, channels] in 0..255 to float32
    [batch, num_classes]. With depth 28, width 2, 10 classes and 32x32x3
    images it has 1,467,610 trainable parameters.

  Raises:
    ValueError: No network has that depth.
  """
  num_groups, num_blocks = count_blocks(input_shape, depth, num_groups)
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize_pixels(inputs, pixel_mean, pixel_standard_deviation)
  x = residual.convolve(
    x,
    16,
    size=3,
    stride=1,
    seed=next(seeds),
    create_convolution=create_convolution,
  )
  for group in range(num_groups):
    for block in range(num_blocks):
      x = residual.pre_activation_block(
        x,
        16 * width * 2**group,
        stride=2 if group > 0 and block == 0 else 1,
        create_normalization=create_normalization,
        create_convolution=create_convolution,
        seeds=seeds,
      )
  logits = residual.classify(
    x, num_classes, create_normalization=create_normalization, seeds=seeds
  )
  return tf.keras.Model(inputs, logits, name=f'wide_resnet_{depth}x{width}')


def create_resnet(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  depth: int,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  create_normalization: residual.Normalization = (
    residual.create_static_batch_norm
  ),
  seed: int = 0,
) -> tf.keras.Model:
  """Creates SemiFL's ResNet from raw pixels to logits.

  With 10 classes and three channels it has 4,901,450 trainable parameters at
  depth 9 and 11,172,170 at depth 18.
  """
  if depth not in _BLOCKS_PER_STAGE:
    possible = ' and '.join(map(str, _BLOCKS_PER_STAGE))
    raise ValueError(f'No ResNet has depth {depth}; possible are {possible}.')
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize_pixels(inputs, pixel_mean, pixel_standard_deviation)
  x = residual.convolve(
    x, _STAGE_FILTERS[0], size=3, stride=1, seed=next(seeds)
  )
  for stage, filters in enumerate(_STAGE_FILTERS):
    for block in range(_BLOCKS_PER_STAGE[depth]):
      x = residual.pre_activation_block(
        x,
        filters,
        stride=2 if stage > 0 and block == 0 else 1,
        create_normalization=create_normalization,
        seeds=seeds,
      )
  logits = residual.classify(
    x, num_classes, create_normalization=create_normalization, seeds=seeds
  )
  return tf.keras.Model(inputs, logits, name=f'resnet_{depth}')


def _create_fixmatch_batch_norm(num_channels: int) -> tf.keras.layers.Layer:
  """Static batch normalization with FixMatch's epsilon."""
  del num_channels
  return static_batch_norm.StaticBatchNormalization(epsilon=_EPSILON)


def create_fixmatch_wide_resnet(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  depth: int,
  width: int,
  num_groups: int | None = None,
  create_normalization: residual.Normalization = _create_fixmatch_batch_norm,
  seed: int = 0,
) -> tf.keras.Model:
  """Creates FixMatch's WideResNet, from raw pixels to logits."""
  num_groups, num_blocks = count_blocks(input_shape, depth, num_groups)
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.rescale(inputs, '-1_to_1')
  x = _convolve(x, 16, size=3, stride=1, seeds=seeds)
  for group in range(num_groups):
    for block in range(num_blocks):
      x = _add_block(
        x,
        16 * width * 2**group,
        stride=2 if group > 0 and block == 0 else 1,
        activates_shortcut=group == 0 and block == 0,
        create_normalization=create_normalization,
        seeds=seeds,
      )
  x = _normalize_and_activate(x, create_normalization)
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  logits = tf.keras.layers.Dense(
    num_classes,
    kernel_initializer=tf.keras.initializers.GlorotNormal(next(seeds)),
  )(x)
  return tf.keras.Model(
    inputs, logits, name=f'fixmatch_wide_resnet_{depth}x{width}'
  )


def _add_block(
  x: tf.Tensor,
  filters: int,
  *,
  stride: int,
  activates_shortcut: bool,
  create_normalization: residual.Normalization,
  seeds: itertools.count,
) -> tf.Tensor:
  """Applies FixMatch's residual block with two 3x3 convolutions.

  The shortcut takes the activated input if `activates_shortcut`, as in the
  first block, and else the raw input.
  """
  h = _normalize_and_activate(x, create_normalization)
  shortcut = h if activates_shortcut else x
  h = _convolve(h, filters, size=3, stride=stride, seeds=seeds)
  h = _normalize_and_activate(h, create_normalization)
  h = _convolve(h, filters, size=3, stride=1, seeds=seeds)
  if shortcut.shape[-1] != filters:
    shortcut = _convolve(shortcut, filters, size=1, stride=stride, seeds=seeds)
  return tf.keras.layers.Add()([shortcut, h])


def _normalize_and_activate(
  x: tf.Tensor, create_normalization: residual.Normalization
) -> tf.Tensor:
  x = create_normalization(x.shape[-1])(x)
  return tf.keras.layers.LeakyReLU(_LEAK)(x)


def _convolve(
  x: tf.Tensor, filters: int, *, size: int, stride: int, seeds: itertools.count
) -> tf.Tensor:
  """Convolves with a bias and TensorFlow's padding."""
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding='same',
    kernel_initializer=residual.kaiming_normal(next(seeds)),
  )(x)
