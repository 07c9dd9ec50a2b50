# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Layers with the initial weights that PyTorch gives them by default.

Kernels and biases alike start uniform between -1 / sqrt(n) and 1 / sqrt(n),
with n the number of inputs of an output: "Kaiming uniform" with a = sqrt(5).
The models of Zhang et al. start so (B.3, B.4); SemiFL's do not (B.1).
"""

import math

import tensorflow as tf


def create_convolution_without_bias(
  filters: int, size: int, stride: int, padding: str, seed: int
) -> tf.keras.layers.Layer:
  """Creates a convolution without bias.

  Args:
    filters: Number of outputs.
    size: Height and width of the kernel.
    stride: Stride in both directions.
    padding: 'valid' or 'same'.
    seed: Seed of the initial kernel.

  Returns:
    The layer.
  """
  return tf.keras.layers.Conv2D(
    filters,
    size,
    strides=stride,
    padding=padding,
    use_bias=False,
    kernel_initializer=_uniform_by_inputs(seed),
  )


def convolve(x: tf.Tensor, filters: int, *, size: int, seed: int) -> tf.Tensor:
  """Convolves without padding, and adds a bias.

  Args:
    x: float32 [batch, height, width, channels].
    filters: Number of outputs.
    size: Height and width of the kernel.
    seed: Seed of the initial weights.

  Returns:
    float32 [batch, new height, new width, filters].
  """
  return tf.keras.layers.Conv2D(
    filters,
    size,
    kernel_initializer=_uniform_by_inputs(seed),
    bias_initializer=_uniform(size * size * x.shape[-1], seed),
  )(x)


def connect(x: tf.Tensor, units: int, *, seed: int) -> tf.Tensor:
  """Connects all inputs with all outputs, and adds a bias.

  Args:
    x: float32 [batch, inputs].
    units: Number of outputs.
    seed: Seed of the initial weights.

  Returns:
    float32 [batch, units].
  """
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
  # Not the kernel's seed: its first values would be those of the bias.
  return tf.keras.initializers.RandomUniform(-bound, bound, seed=seed + 2**30)
