# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""ResNets with four stages of 64 to 512 channels.

`create_resnet` has the pre-activation blocks of SemiFL's repository, whose
paper does not use them. `create_post_activation_resnet` is the ResNet-18 of
Zhang et al. for CIFAR-10 and SVHN, with the original blocks: normalization
after each convolution, activation after the addition.

References:
  He, Zhang, Ren, Sun. Deep residual learning for image recognition. CVPR 2016.
  Zhang et al. Benchmarking semi-supervised federated learning. 2020.
"""

import itertools

import tensorflow as tf

from tff_semifl.models import pixels
from tff_semifl.models import pytorch_layers
from tff_semifl.models import residual

# Blocks per stage by depth. 9 is the authors' name; it has 10 layers.
_BLOCKS_PER_STAGE = {9: 1, 18: 2}
_STAGE_FILTERS = (64, 128, 256, 512)


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


def create_post_activation_resnet(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  create_normalization: residual.Normalization = residual.create_group_norm,
  seed: int = 0,
) -> tf.keras.Model:
  """Creates the ResNet-18 of Zhang et al. from raw pixels to logits.

  With 10 classes and three channels it has 11,173,962 trainable parameters.
  """
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize_pixels(inputs, pixel_mean, pixel_standard_deviation)
  x = _convolve(x, _STAGE_FILTERS[0], size=3, stride=1, seeds=seeds)
  x = residual.normalize_and_activate(x, create_normalization)
  for stage, filters in enumerate(_STAGE_FILTERS):
    for block in range(_BLOCKS_PER_STAGE[18]):
      x = _post_activation_block(
        x,
        filters,
        stride=2 if stage > 0 and block == 0 else 1,
        create_normalization=create_normalization,
        seeds=seeds,
      )
  # For 32x32 pixels, the 4x4 average of the authors' code.
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  logits = pytorch_layers.connect(x, num_classes, seed=next(seeds))
  return tf.keras.Model(inputs, logits, name='post_activation_resnet_18')


def _convolve(
  x: tf.Tensor,
  filters: int,
  *,
  size: int,
  stride: int,
  seeds: itertools.count,
) -> tf.Tensor:
  return residual.convolve(
    x,
    filters,
    size=size,
    stride=stride,
    seed=next(seeds),
    create_convolution=pytorch_layers.create_convolution_without_bias,
  )


def _post_activation_block(
  x: tf.Tensor,
  filters: int,
  *,
  stride: int,
  create_normalization: residual.Normalization,
  seeds: itertools.count,
) -> tf.Tensor:
  """Adds two 3x3 convolutions to their input, or to a projection of it."""
  h = _convolve(x, filters, size=3, stride=stride, seeds=seeds)
  h = residual.normalize_and_activate(h, create_normalization)
  h = _convolve(h, filters, size=3, stride=1, seeds=seeds)
  h = create_normalization(filters)(h)
  if x.shape[-1] != filters or stride != 1:
    x = _convolve(x, filters, size=1, stride=stride, seeds=seeds)
    x = create_normalization(filters)(x)
  return tf.keras.layers.ReLU()(tf.keras.layers.Add()([x, h]))
