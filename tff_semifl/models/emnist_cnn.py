# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The small convolutional networks for EMNIST.

Zhang et al. name the network of Reddi et al.; their code has another one, with
as many parameters. Neither normalizes. (Two unused group normalizations of
their code are omitted.) `train_logits` needs a seed for dropout.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020.
  Reddi et al. Adaptive federated optimization. ICLR 2021.
"""

import itertools

import tensorflow as tf

from tff_semifl.models import keyed_dropout
from tff_semifl.models import pixels
from tff_semifl.models import pytorch_layers
from tff_semifl.models import residual

_FILTERS = (32, 64)
_HIDDEN_UNITS = 128
_CHANNEL_DROPOUT_RATE = 0.25
_HIDDEN_DROPOUT_RATE = 0.5


def create_emnist_cnn(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  seed: int = 0,
) -> tf.keras.Model:
  """Creates the network of the code of Zhang et al., from raw pixels to logits.

  Dropout drops whole channels of the second convolution, before its activation.
  Means and standard deviations are of each channel, in 0..1. There are
  1,204,655 parameters for 28x28x1 pixels and 47 classes.
  """
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize_pixels(inputs, pixel_mean, pixel_standard_deviation)
  x = pytorch_layers.convolve(x, _FILTERS[0], size=3, seed=next(seeds))
  x = tf.keras.layers.ReLU()(x)
  x = pytorch_layers.convolve(x, _FILTERS[1], size=3, seed=next(seeds))
  x = tf.keras.layers.MaxPooling2D()(x)
  x = keyed_dropout.KeyedDropout(
    _CHANNEL_DROPOUT_RATE, key=0, noise_shape=(None, 1, 1, None)
  )(x)
  x = tf.keras.layers.ReLU()(x)
  x = _hide(x, seeds)
  logits = pytorch_layers.connect(x, num_classes, seed=next(seeds))
  return tf.keras.Model(inputs, logits, name='emnist_cnn')


def create_reddi_emnist_cnn(
  input_shape: tuple[int, int, int],
  num_classes: int,
  *,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
  seed: int = 0,
) -> tf.keras.Model:
  """Creates the network that the paper of Zhang et al. names.

  It activates before pooling, drops single values, and has a second dropout
  before the classifier. For arguments, initial weights and result see
  `create_emnist_cnn`.
  """
  seeds = residual.layer_seeds(seed)
  inputs = tf.keras.Input(input_shape)
  x = pixels.standardize_pixels(inputs, pixel_mean, pixel_standard_deviation)
  for filters in _FILTERS:
    x = pytorch_layers.convolve(x, filters, size=3, seed=next(seeds))
    x = tf.keras.layers.ReLU()(x)
  x = tf.keras.layers.MaxPooling2D()(x)
  x = keyed_dropout.KeyedDropout(_CHANNEL_DROPOUT_RATE, key=0)(x)
  x = _hide(x, seeds)
  x = keyed_dropout.KeyedDropout(_HIDDEN_DROPOUT_RATE, key=1)(x)
  logits = pytorch_layers.connect(x, num_classes, seed=next(seeds))
  return tf.keras.Model(inputs, logits, name='reddi_emnist_cnn')


def _hide(x: tf.Tensor, seeds: itertools.count) -> tf.Tensor:
  """Adds the hidden layer and its activation."""
  x = tf.keras.layers.Flatten()(x)
  x = pytorch_layers.connect(x, _HIDDEN_UNITS, seed=next(seeds))
  return tf.keras.layers.ReLU()(x)
