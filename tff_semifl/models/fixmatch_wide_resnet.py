# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The wide residual network of FixMatch.

References:
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. Its authors' code, `libml/models.py`.
"""

import itertools

import tensorflow as tf

from tff_semifl.models import pixels
from tff_semifl.models import residual
from tff_semifl.models import static_batch_norm
from tff_semifl.models import wide_resnet

_LEAK = 0.1
# The default of TensorFlow's layers.
_EPSILON = 1e-3


def create_static_batch_norm(num_channels: int) -> tf.keras.layers.Layer:
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
  create_normalization: residual.Normalization = create_static_batch_norm,
  seed: int = 0,
) -> tf.keras.Model:
  """Creates FixMatch's WideResNet, from raw pixels to logits."""
  num_groups, num_blocks = wide_resnet.count_blocks(
    input_shape, depth, num_groups
  )
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
  """Adds two 3x3 convolutions of activated values to their input.

  A projection takes the raw input, except in the first block.
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
  """A convolution with bias and TensorFlow's padding."""
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding='same',
    kernel_initializer=residual.kaiming_normal(next(seeds)),
  )(x)
