# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Operations of residual networks in NumPy, and access to their layers."""

import numpy as np
import tensorflow as tf

from tff_semifl.models import static_batch_norm

_NORMALIZATIONS = (
  static_batch_norm.StaticBatchNormalization,
  tf.keras.layers.GroupNormalization,
)


def in_order_of_creation(model, layer_class):
  """The layers of a class, by creation; `model.layers` is sorted by depth."""

  def number(layer):
    suffix = layer.name.rpartition('_')[2]
    return int(suffix) if suffix.isdigit() else 0

  layers = [each for each in model.layers if isinstance(each, layer_class)]
  return sorted(layers, key=number)


def get_kernels(model):
  """The kernels of convolutions, in the order of their creation."""
  layers = in_order_of_creation(model, tf.keras.layers.Conv2D)
  return [layer.kernel.numpy() for layer in layers]


def assert_kernels_are_kaiming_normal(model):
  """Asserts that kernels are normal by fan-out, within 5 deviations."""
  for kernel in get_kernels(model):
    size, _, _, outputs = kernel.shape
    standardized = np.ravel(kernel) / np.sqrt(2 / (size * size * outputs))
    n = standardized.size
    # For n standard normal numbers, the mean has variance 1 / n, and the mean
    # of the squares has variance 2 / n.
    np.testing.assert_allclose(standardized.mean(), 0, atol=5 / np.sqrt(n))
    np.testing.assert_allclose(
      np.mean(standardized**2), 1, rtol=0, atol=5 * np.sqrt(2 / n)
    )
    # 1.24% of a normal distribution are beyond 2.5, and none of Keras's
    # truncated distribution, which ends at 2 / 0.88 = 2.27.
    beyond = 0.01242
    np.testing.assert_allclose(
      np.mean(np.abs(standardized) > 2.5),
      beyond,
      rtol=0,
      atol=5 * np.sqrt(beyond / n),
    )


def assert_is_function_of_seed(create):
  """Asserts that weights are equal if and only if seeds are equal."""
  first, again, other = (create(seed) for seed in (1, 1, 2))
  for a, b in zip(first.weights, again.weights, strict=True):
    np.testing.assert_array_equal(a, b)
  for a, b in zip(get_kernels(first), get_kernels(other), strict=True):
    assert not np.allclose(a, b)


def get_norms(model):
  """The normalization layers, in the order of their creation."""
  return in_order_of_creation(model, _NORMALIZATIONS)


def randomize_norms(model, seed=0):
  """Gives each normalization random scales and offsets."""
  generator = np.random.default_rng(seed)
  for norm in get_norms(model):
    norm.gamma.assign(generator.uniform(0.5, 2, size=norm.gamma.shape))
    norm.beta.assign(generator.normal(size=norm.beta.shape))


def count(weights):
  """The total number of values of all weights."""
  return sum(int(np.prod(w.shape)) for w in weights)


def convolve(x, kernel, stride):
  """A convolution by definition: output (i, j) has center stride * (i, j).

  Pixels outside of the image are zero.
  """
  size = kernel.shape[0]
  border = size // 2
  padded = np.pad(x, [(0, 0), (border, border), (border, border), (0, 0)])
  _, height, width, _ = x.shape
  rows, columns = np.arange(0, height, stride), np.arange(0, width, stride)
  result = 0.0
  for i in range(size):
    for j in range(size):
      result += padded[:, rows + i][:, :, columns + j] @ kernel[i, j]
  return result


def normalize_batch(x):
  """Normalizes each channel over the batch, in float64."""
  deviations = x - x.mean(axis=(0, 1, 2))
  return deviations / np.sqrt(np.mean(deviations**2, axis=(0, 1, 2)) + 1e-5)


def normalize_groups(x, num_groups):
  """Normalizes adjacent channels of each image together, in float64."""
  groups = x.reshape(*x.shape[:3], num_groups, -1)
  deviations = groups - groups.mean(axis=(1, 2, 4), keepdims=True)
  variance = np.mean(deviations**2, axis=(1, 2, 4), keepdims=True)
  return (deviations / np.sqrt(variance + 1e-5)).reshape(x.shape)
