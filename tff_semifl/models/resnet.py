# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""ResNet-9 and ResNet-18 as in SemiFL's repository.

The paper does not use them, and the authors' last code cannot train them. Four
stages of 64 to 512 channels have the blocks of the WideResNet.
"""

import tensorflow as tf

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
  """Creates a ResNet from raw pixels to logits.

  Args:
    pixel_mean: Mean of each channel, in 0..1.
    pixel_standard_deviation: Standard deviation of each channel, in 0..1.
    seed: The run's seed.

  Returns:
    A model from float32 [batch, height, width, channels] in 0..255 to float32
    [batch, num_classes]. With 10 classes and three channels it has 4,901,450
    trainable parameters at depth 9 and 11,172,170 at depth 18.
  """
  if depth not in _BLOCKS_PER_STAGE:
    possible = ' and '.join(map(str, _BLOCKS_PER_STAGE))
    raise ValueError(f'No ResNet has depth {depth}; possible are {possible}.')
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = residual.standardize_pixels(inputs, pixel_mean, pixel_standard_deviation)
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
