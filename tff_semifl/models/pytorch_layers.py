# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Layers with PyTorch's default initial weights.

Kernels and biases are uniform between -1 / sqrt(n) and 1 / sqrt(n), where n is
the number of inputs per output: "Kaiming uniform" with a = sqrt(5). The models
of Zhang et al. start so, those of SemiFL do not.
"""

import math

import tensorflow as tf


def create_convolution_without_bias(
  filters: int, size: int, stride: int, padding: str, seed: int
) -> tf.keras.layers.Layer:
  """A convolution without bias, as a `residual.Convolution`."""
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding=padding,
    use_bias=False,
    kernel_initializer=_uniform_by_inputs(seed),
  )


def convolve(x: tf.Tensor, filters: int, *, size: int, seed: int) -> tf.Tensor:
  """Convolves [batch, height, width, channels] with a bias, unpadded."""
  return tf.keras.layers.Conv2D(
    filters,
    size,
    kernel_initializer=_uniform_by_inputs(seed),
    bias_initializer=_uniform(size * size * x.shape[-1], seed),
  )(x)


def connect(x: tf.Tensor, units: int, *, seed: int) -> tf.Tensor:
  """A dense layer with bias: float32 [batch, inputs] to [batch, units]."""
  return tf.keras.layers.Dense(
    units,
    kernel_initializer=_uniform_by_inputs(seed),
    bias_initializer=_uniform(x.shape[-1], seed),
  )(x)


def _uniform_by_inputs(seed: int) -> tf.keras.initializers.Initializer:
  # A uniform variable between -b and b has variance b^2 / 3.
  return tf.keras.initializers.VarianceScaling(
    1 / 3, 'fan_in', 'uniform', seed=seed
  )


def _uniform(num_inputs: int, seed: int) -> tf.keras.initializers.Initializer:
  bound = 1 / math.sqrt(num_inputs)
  # With the kernel's seed, the bias would repeat its first values.
  return tf.keras.initializers.RandomUniform(-bound, bound, seed=seed + 2**30)
