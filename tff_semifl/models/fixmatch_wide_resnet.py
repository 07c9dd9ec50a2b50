# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FixMatch's WideResNet.

References:
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. The code of its authors, `libml/models.py`.
"""

import itertools

import tensorflow as tf

from tff_semifl.models import static_batch_norm
from tff_semifl.models import wide_resnet

# FixMatch's values; the epsilon is the default of TensorFlow's layers.
_LEAK = 0.1
_EPSILON = 1e-3


def create(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  depth: int,
  width: int,
  num_groups: int | None = None,
  seed: int = 0,
) -> tf.keras.Model:
  """Creates FixMatch's WideResNet, from raw pixels to logits."""
  num_groups, num_blocks = wide_resnet.count_blocks(
    input_shape, depth, num_groups
  )
  seeds = wide_resnet.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = tf.keras.layers.Rescaling(1 / 127.5, -1.0)(inputs)
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
  """Applies a convolution with a bias and TensorFlow's 'same' padding."""
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding='same',
    kernel_initializer=wide_resnet.kaiming_normal(next(seeds)),
  )(x)
