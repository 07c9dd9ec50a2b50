# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The WideResNets of SemiFL and FixMatch.

References:
  Zagoruyko, Komodakis. Wide residual networks. BMVC 2016.
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. The code of its authors, `libml/models.py`.
"""

import itertools
import math

import tensorflow as tf

from tff_semifl.data import pixels
from tff_semifl.models import residual
from tff_semifl.models import static_batch_norm

# FixMatch's values; the epsilon is the default of TensorFlow's layers.
_LEAK = 0.1
_EPSILON = 1e-3


def default_num_groups(image_shape: tuple[int, int, int]) -> int:
  """The default number of groups; the last group has at least 8x8 pixels.

  Images of 8x8 pixels have 1 group; 16x16, 2; 32x32, 3; 96x96, 4.
  """
  return max(int(math.log2(min(image_shape[:2]))) - 2, 1)


def _count_blocks(
  image_shape: tuple[int, int, int], depth: int, num_groups: int | None
) -> tuple[int, int]:
  """The number of groups (by default `default_num_groups`) and blocks in each.

  `depth - 1` must be an odd multiple of `num_groups`: there are a stem, pairs
  of convolutions and a classifier. Later groups halve the size.
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
    [batch, num_classes]. With depth 28, width 2, 10 classes and 32x32x3
    images it has 1,467,610 trainable parameters.
  """
  num_groups, num_blocks = _count_blocks(input_shape, depth, num_groups)
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize(inputs, pixel_mean, pixel_standard_deviation)
  x = residual.convolve(x, 16, 3, 1, residual.kaiming_normal(next(seeds)))
  for group in range(num_groups):
    for block in range(num_blocks):
      stride = 2 if group > 0 and block == 0 else 1
      filters = 16 * width * 2**group
      x = residual.pre_activation_block(x, filters, stride, seeds)
  x = residual.normalize_and_activate(x)
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  logits = tf.keras.layers.Dense(
    num_classes, kernel_initializer=residual.uniform_by_inputs(next(seeds))
  )(x)
  return tf.keras.Model(inputs, logits, name=f'wide_resnet_{depth}x{width}')


def create_fixmatch_wide_resnet(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  depth: int,
  width: int,
  num_groups: int | None = None,
  seed: int = 0,
) -> tf.keras.Model:
  """Creates FixMatch's WideResNet, from raw pixels to logits."""
  num_groups, num_blocks = _count_blocks(input_shape, depth, num_groups)
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.rescale(inputs, '-1_to_1')
  x = _convolve(x, 16, 3, 1, seeds)
  for group in range(num_groups):
    for block in range(num_blocks):
      x = _add_block(
        x,
        16 * width * 2**group,
        stride=2 if group > 0 and block == 0 else 1,
        activates_shortcut=group == 0 and block == 0,
        seeds=seeds,
      )
  x = _normalize_and_activate(x)
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
  seeds: itertools.count,
) -> tf.Tensor:
  """Applies FixMatch's residual block with two 3x3 convolutions.

  The shortcut takes the activated input if `activates_shortcut`, as in the
  first block; otherwise the raw input.
  """
  h = _normalize_and_activate(x)
  shortcut = h if activates_shortcut else x
  h = _convolve(h, filters, 3, stride, seeds)
  h = _convolve(_normalize_and_activate(h), filters, 3, 1, seeds)
  if shortcut.shape[-1] != filters:
    shortcut = _convolve(shortcut, filters, 1, stride, seeds)
  return tf.keras.layers.Add()([shortcut, h])


def _normalize_and_activate(x: tf.Tensor) -> tf.Tensor:
  x = static_batch_norm.StaticBatchNormalization(epsilon=_EPSILON)(x)
  return tf.keras.layers.LeakyReLU(_LEAK)(x)


def _convolve(
  x: tf.Tensor, filters: int, size: int, stride: int, seeds: itertools.count
) -> tf.Tensor:
  """Convolves with a bias and TensorFlow's padding."""
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding='same',
    kernel_initializer=residual.kaiming_normal(next(seeds)),
  )(x)
