# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The networks of Zhang et al., with PyTorch's default initial weights.

For EMNIST, the paper names the network of Reddi et al., but the authors' code
has another network of the same size. Neither network has normalization
(two unused group normalizations of the code are omitted), and `train_logits`
needs a seed for dropout. For CIFAR-10 and SVHN, the authors use a ResNet-18
with the original blocks: normalization after each convolution, activation after
the addition.

References:
  He, Zhang, Ren, Sun. Deep residual learning for image recognition. CVPR 2016.
  Reddi et al. Adaptive federated optimization. ICLR 2021.
  Zhang et al. Benchmarking semi-supervised federated learning. 2020.
"""

import itertools
import math

import tensorflow as tf

from tff_semifl.data import pixels
from tff_semifl.models import keras_conversion
from tff_semifl.models import keyed_dropout
from tff_semifl.models import static_batch_norm
from tff_semifl.models import wide_resnet

_STAGE_FILTERS = (64, 128, 256, 512)
_BLOCKS_PER_STAGE = 2
_CNN_FILTERS = (32, 64)
_HIDDEN_UNITS = 128
_CHANNEL_DROPOUT_RATE = 0.25
_HIDDEN_DROPOUT_RATE = 0.5
# The number of groups in the code of Zhang et al.
_MAX_GROUPS = 32


def create_emnist_cnn(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  seed: int = 0,
) -> tf.keras.Model:
  """Creates the EMNIST network in Zhang et al.'s code, from pixels to logits.

  Dropout drops whole channels of the second convolution, before its activation.
  There are 1,204,655 parameters for 28x28x1 pixels and 47 classes.
  """
  seeds = wide_resnet.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize(inputs, pixel_mean, pixel_standard_deviation)
  x = _convolve(x, _CNN_FILTERS[0], next(seeds))
  x = tf.keras.layers.ReLU()(x)
  x = _convolve(x, _CNN_FILTERS[1], next(seeds))
  x = tf.keras.layers.MaxPooling2D()(x)
  x = keyed_dropout.KeyedDropout(
    _CHANNEL_DROPOUT_RATE, key=0, noise_shape=(None, 1, 1, None)
  )(x)
  x = tf.keras.layers.ReLU()(x)
  x = _hide(x, seeds)
  logits = _connect(x, num_classes, next(seeds))
  return tf.keras.Model(inputs, logits, name='emnist_cnn')


def create_reddi_emnist_cnn(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  seed: int = 0,
) -> tf.keras.Model:
  """Creates the EMNIST network of Reddi et al., named in Zhang et al.'s paper.

  Unlike `create_emnist_cnn`, this network applies activations before pooling,
  drops single values, and has a second dropout before the classifier.
  """
  seeds = wide_resnet.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize(inputs, pixel_mean, pixel_standard_deviation)
  for filters in _CNN_FILTERS:
    x = _convolve(x, filters, next(seeds))
    x = tf.keras.layers.ReLU()(x)
  x = tf.keras.layers.MaxPooling2D()(x)
  x = keyed_dropout.KeyedDropout(_CHANNEL_DROPOUT_RATE, key=0)(x)
  x = _hide(x, seeds)
  x = keyed_dropout.KeyedDropout(_HIDDEN_DROPOUT_RATE, key=1)(x)
  logits = _connect(x, num_classes, next(seeds))
  return tf.keras.Model(inputs, logits, name='reddi_emnist_cnn')


def _hide(x: tf.Tensor, seeds: itertools.count) -> tf.Tensor:
  x = tf.keras.layers.Flatten()(x)
  x = _connect(x, _HIDDEN_UNITS, next(seeds))
  return tf.keras.layers.ReLU()(x)


def create_post_activation_resnet(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  seed: int = 0,
) -> tf.keras.Model:
  """Creates the ResNet-18 of Zhang et al. from raw pixels to logits.

  For 10 classes and three channels, there are 11,173,962 trainable parameters.
  """
  seeds = wide_resnet.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize(inputs, pixel_mean, pixel_standard_deviation)
  x = _convolve_without_bias(x, _STAGE_FILTERS[0], 3, 1, seeds)
  x = wide_resnet.normalize_and_activate(x)
  for stage, filters in enumerate(_STAGE_FILTERS):
    for block in range(_BLOCKS_PER_STAGE):
      stride = 2 if stage > 0 and block == 0 else 1
      x = _post_activation_block(x, filters, stride, seeds)
  # For 32x32 pixels, this is the 4x4 average pooling of the authors' code.
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  logits = _connect(x, num_classes, next(seeds))
  return tf.keras.Model(inputs, logits, name='post_activation_resnet_18')


def _post_activation_block(
  x: tf.Tensor, filters: int, stride: int, seeds: itertools.count
) -> tf.Tensor:
  h = _convolve_without_bias(x, filters, 3, stride, seeds)
  h = wide_resnet.normalize_and_activate(h)
  h = _convolve_without_bias(h, filters, 3, 1, seeds)
  h = static_batch_norm.StaticBatchNormalization()(h)
  if x.shape[-1] != filters or stride != 1:
    x = _convolve_without_bias(x, filters, 1, stride, seeds)
    x = static_batch_norm.StaticBatchNormalization()(x)
  return tf.keras.layers.ReLU()(tf.keras.layers.Add()([x, h]))


def _convolve_without_bias(
  x: tf.Tensor, filters: int, size: int, stride: int, seeds: itertools.count
) -> tf.Tensor:
  initializer = wide_resnet.uniform_by_inputs(next(seeds))
  return wide_resnet.convolve(x, filters, size, stride, initializer)


def _convolve(x: tf.Tensor, filters: int, seed: int) -> tf.Tensor:
  """Convolves with 3x3 kernels and a bias, unpadded."""
  return tf.keras.layers.Conv2D(
    filters,
    3,
    kernel_initializer=wide_resnet.uniform_by_inputs(seed),
    bias_initializer=_uniform(3 * 3 * x.shape[-1], seed),
  )(x)


def _connect(x: tf.Tensor, units: int, seed: int) -> tf.Tensor:
  """Applies a dense layer with a bias: [batch, inputs] to [batch, units]."""
  return tf.keras.layers.Dense(
    units,
    kernel_initializer=wide_resnet.uniform_by_inputs(seed),
    bias_initializer=_uniform(x.shape[-1], seed),
  )(x)


def _uniform(num_inputs: int, seed: int) -> tf.keras.initializers.Initializer:
  """PyTorch's initializer of biases: uniform within 1 / sqrt(num_inputs)."""
  bound = 1 / math.sqrt(num_inputs)
  # With the seed of the kernel, the bias would repeat the kernel's first
  # values.
  return tf.keras.initializers.RandomUniform(-bound, bound, seed=seed + 2**30)


def to_group_norm(layer: tf.keras.layers.Layer) -> tf.keras.layers.Layer:
  """Creates the group normalization that replaces a batch normalization.

  The layer has 32 groups, as in the code of Zhang et al., or the largest lower
  number that divides the channels: 16 groups for 16 channels, 24 for 48. The
  replacement changes the model's outputs. A frozen layer, whose statistics are
  final, becomes a `StaticBatchNormalization`.

  References:
    Wu, He. Group normalization. ECCV 2018.
  """
  if not layer.trainable:
    return keras_conversion.to_static_batch_norm(layer)
  # The first non-trainable weight is the mean.
  num_channels = layer.non_trainable_weights[0].shape[0]
  num_groups = next(
    groups
    for groups in range(min(_MAX_GROUPS, num_channels), 0, -1)
    if num_channels % groups == 0
  )
  return tf.keras.layers.GroupNormalization(
    num_groups,
    # PyTorch's default, as for static batch normalization.
    epsilon=static_batch_norm.EPSILON,
    center=layer.center,
    scale=layer.scale,
    name=layer.name,
    dtype='float32',
  )
