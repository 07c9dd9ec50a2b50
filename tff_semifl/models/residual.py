# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Building blocks of SemiFL's residual networks (B.1, B.2).

Convolution, pre-activation block and classifier follow SemiFL's code, down to
initialization, padding and epsilon, where that differs from FixMatch's or
Keras' (D19). The normalization is the caller's choice.
"""

from collections.abc import Callable
import itertools

import tensorflow as tf

from tff_semifl.models import static_batch_norm
from tff_semifl.randomness import random_seeds

# Creates the layer that normalizes a given number of channels.
Normalization = Callable[[int], tf.keras.layers.Layer]
# Creates a convolution without bias: (filters, size, stride, padding, seed) to
# a layer. The padding is 'valid' or 'same', as of Keras.
Convolution = Callable[[int, int, int, str, int], tf.keras.layers.Layer]

# PyTorch's, as for static batch normalization; Keras has 1e-3.
GROUP_NORM_EPSILON = 1e-5
# As the code of Zhang et al. has it in every layer (D21).
_MAX_GROUPS = 32


def create_static_batch_norm(num_channels: int) -> tf.keras.layers.Layer:
  """Creates SemiFL's static batch normalization (A.5).

  Args:
    num_channels: Unused, as the layer takes the number from its input.

  Returns:
    The layer.
  """
  del num_channels  # Unused.
  return static_batch_norm.StaticBatchNormalization()


def create_group_norm(num_channels: int) -> tf.keras.layers.Layer:
  """Creates group normalization, which needs no statistics of a batch.

  Nothing but trained weights is then to be averaged or computed anew, and
  training and inference are the same function.

  There are 32 groups (D21) wherever the channels allow it. Where they do not,
  there is the largest smaller number that divides them: 16 groups of 16
  channels, 24 of 48. With no more than 32 channels each channel is a group of
  its own, as 32 of 32 are for Zhang et al. already; fewer, larger groups
  would make small networks another method than wide ones.

  References:
    Wu, He. Group normalization. ECCV 2018.

  Args:
    num_channels: Number of channels.

  Returns:
    The layer.
  """
  num_groups = next(
    groups
    for groups in range(min(_MAX_GROUPS, num_channels), 0, -1)
    if num_channels % groups == 0
  )
  return tf.keras.layers.GroupNormalization(
    num_groups, epsilon=GROUP_NORM_EPSILON
  )


def layer_seeds(seed: int) -> itertools.count:
  """Returns seeds for the layers' initializers, different for each layer.

  Args:
    seed: The run's seed.
  """
  purpose = random_seeds.Purpose.INITIAL_WEIGHTS
  first = random_seeds.numpy_generator(seed, purpose).integers(2**30)
  return itertools.count(int(first))


def standardize_pixels(
  images: tf.Tensor,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
) -> tf.Tensor:
  """Returns (images / 255 - mean) / standard deviation, per channel.

  As this is affine, mixing images before it equals mixing them after it.

  Args:
    images: float32 [batch, height, width, channels] in 0..255.
    pixel_mean: Mean of each channel, in 0..1.
    pixel_standard_deviation: Standard deviation of each channel, in 0..1.

  Raises:
    ValueError: If there is not one mean for each channel.
  """
  if len(pixel_mean) != images.shape[-1]:
    raise ValueError(
      f'`pixel_mean` has {len(pixel_mean)} values for {images.shape[-1]}'
      ' channels.'
    )
  return tf.keras.layers.Rescaling(
    [1 / (255 * s) for s in pixel_standard_deviation],
    [-m / s for m, s in zip(pixel_mean, pixel_standard_deviation, strict=True)],
  )(images)


def kaiming_normal(seed: int) -> tf.keras.initializers.Initializer:
  """Returns the initializer of kernels: Kaiming normal by outputs.

  It is not truncated.

  Args:
    seed: Its seed.
  """
  return tf.keras.initializers.VarianceScaling(
    2.0, 'fan_out', 'untruncated_normal', seed=seed
  )


def create_plain_convolution(
  filters: int, size: int, stride: int, padding: str, seed: int
) -> tf.keras.layers.Layer:
  """Creates a convolution with one kernel, without bias.

  Args:
    filters: Number of output channels.
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
    kernel_initializer=kaiming_normal(seed),
  )


def convolve(
  x: tf.Tensor,
  filters: int,
  *,
  size: int,
  stride: int,
  seed: int,
  create_convolution: Convolution = create_plain_convolution,
) -> tf.Tensor:
  """Convolves without bias, padded by one pixel on all sides if 3x3.

  Where the stride is 2, padding 'same' would pad even sizes on one side only.
  Elsewhere it is the same, and spares the padded copy.

  Args:
    x: float32 [batch, height, width, channels].
    filters: Number of output channels.
    size: Height and width of the kernel.
    stride: Stride in both directions.
    seed: Seed of the initial kernel.
    create_convolution: Creates the convolution.

  Returns:
    float32 [batch, height / stride, width / stride, filters].
  """
  padding = 'same' if size == 3 and stride == 1 else 'valid'
  if size == 3 and stride != 1:
    x = tf.keras.layers.ZeroPadding2D(1)(x)
  return create_convolution(filters, size, stride, padding, seed)(x)


def normalize_and_activate(
  x: tf.Tensor, create_normalization: Normalization
) -> tf.Tensor:
  """Normalizes, then sets what is negative to zero.

  Args:
    x: float32 [batch, height, width, channels].
    create_normalization: Number of channels to a layer that normalizes them.

  Returns:
    A tensor like `x`.
  """
  x = create_normalization(x.shape[-1])(x)
  return tf.keras.layers.ReLU()(x)


def pre_activation_block(
  x: tf.Tensor,
  filters: int,
  *,
  stride: int,
  create_normalization: Normalization,
  create_convolution: Convolution = create_plain_convolution,
  seeds: itertools.count,
) -> tf.Tensor:
  """Adds two 3x3 convolutions of activated values to their input.

  An identity shortcut takes the raw input, a projection the activated one.

  Args:
    x: float32 [batch, height, width, channels].
    filters: Number of output channels.
    stride: Stride of the first convolution and the projection.
    create_normalization: Number of channels to a layer that normalizes them.
    create_convolution: Creates the convolutions.
    seeds: Seeds of initial weights, see `layer_seeds`.

  Returns:
    float32 [batch, height / stride, width / stride, filters].
  """

  def apply(x: tf.Tensor, size: int, stride: int) -> tf.Tensor:
    return convolve(
      x,
      filters,
      size=size,
      stride=stride,
      seed=next(seeds),
      create_convolution=create_convolution,
    )

  h = normalize_and_activate(x, create_normalization)
  if x.shape[-1] == filters and stride == 1:
    shortcut = x
  else:
    shortcut = apply(h, 1, stride)
  h = apply(h, 3, stride)
  h = normalize_and_activate(h, create_normalization)
  h = apply(h, 3, 1)
  return tf.keras.layers.Add()([shortcut, h])


def classify(
  x: tf.Tensor,
  num_classes: int,
  *,
  create_normalization: Normalization,
  seeds: itertools.count,
) -> tf.Tensor:
  """Normalizes, activates, averages over the image and maps to logits.

  Args:
    x: float32 [batch, height, width, channels].
    num_classes: Number of logits.
    create_normalization: Number of channels to a layer that normalizes them.
    seeds: Seeds of initial weights, see `layer_seeds`.

  Returns:
    float32 [batch, num_classes], logits.
  """
  x = normalize_and_activate(x, create_normalization)
  x = tf.keras.layers.GlobalAveragePooling2D()(x)
  return tf.keras.layers.Dense(
    num_classes,
    # PyTorch's default: uniform with bound 1 / sqrt(number of inputs).
    kernel_initializer=tf.keras.initializers.VarianceScaling(
      1 / 3, 'fan_in', 'uniform', seed=next(seeds)
    ),
  )(x)
