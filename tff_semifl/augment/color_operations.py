# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pillow's color operations, for batches of images.

RandAugment uses Pillow's `ImageOps` and `ImageEnhance`, including their
rounding and clipping. KerasCV's layers equalize differently, keep
fractions of gray levels, and posterize all images to the same bit depth.

All operations take and return float32 images [batch, height, width, 3] of whole
gray levels in 0..255. Thresholds and factors are [batch] or scalars.
"""

from collections.abc import Callable

import tensorflow as tf

from tff_semifl.augment import rand_augment

# Pillow's weights of red, green and blue in a gray image, in units of 2^-16
# (ITU-R 601-2).
_LUMA_WEIGHTS = (19595, 38470, 7471)
# Pillow's SMOOTH kernel: 5 in the middle, 1 for each of the eight neighbors.
_SMOOTH_MIDDLE = 5
_SMOOTH_SUM = 13


def invert(images: tf.Tensor) -> tf.Tensor:
  """Maps every gray level p to 255 - p (`ImageOps.invert`)."""
  return 255.0 - images


def solarize(images: tf.Tensor, threshold: tf.Tensor | int) -> tf.Tensor:
  """Inverts gray levels at or above a threshold (`ImageOps.solarize`).

  Thresholds are in 0..256: 0 inverts all gray levels, 256 none.
  """
  return tf.where(images < _spread(threshold), images, 255.0 - images)


def posterize(images: tf.Tensor, num_bits: tf.Tensor | int) -> tf.Tensor:
  """Keeps the top `num_bits` (0..8) of gray levels (`ImageOps.posterize`)."""
  step = _spread(tf.bitwise.left_shift(1, 8 - num_bits))
  return tf.floor(images / step) * step


def auto_contrast(images: tf.Tensor) -> tf.Tensor:
  """Stretches each channel to all of 0..255 (`ImageOps.autocontrast`).

  A channel of a single gray level is unchanged.
  """
  # Pillow's table is in float64, where the highest level of some images is
  # 254.99..., which becomes 254.
  levels = tf.cast(images, tf.float64)
  lowest = tf.reduce_min(levels, axis=[1, 2], keepdims=True)
  highest = tf.reduce_max(levels, axis=[1, 2], keepdims=True)
  is_flat = highest <= lowest
  scale = 255.0 / tf.where(is_flat, tf.ones_like(highest), highest - lowest)
  stretched = _to_gray_levels(product(levels, scale) + product(-lowest, scale))
  return tf.cast(tf.where(is_flat, levels, stretched), tf.float32)


def equalize(images: tf.Tensor) -> tf.Tensor:
  """Equalizes the histogram of each channel (`ImageOps.equalize`).

  A channel is unchanged if it has a single gray level, or fewer than 255 pixels
  below its highest level, as in all images up to 15x15.
  """
  _, height, width, channels = tf.unstack(tf.shape(images))
  num_pixels = height * width
  levels = tf.reshape(
    tf.transpose(tf.cast(images, tf.int32), [0, 3, 1, 2]), [-1, num_pixels]
  )
  highest = tf.reduce_max(levels, axis=1, keepdims=True)
  # `==` would compare object identities in the graph of a TFF computation.
  num_highest = tf.math.count_nonzero(
    tf.equal(levels, highest), axis=1, keepdims=True, dtype=tf.int32
  )
  step = (num_pixels - num_highest) // 255
  # XLA does not know the output size of `tf.math.bincount` in a loop.
  histogram = tf.raw_ops.DenseBincount(
    input=levels,
    size=tf.constant(256),
    weights=tf.zeros([0], tf.int32),
    binary_output=False,
  )
  divisor = tf.maximum(step, 1)
  table = (
    divisor // 2 + tf.cumsum(histogram, axis=1, exclusive=True)
  ) // divisor
  # Remainders of the division may exceed 255.
  equalized = tf.gather(tf.minimum(table, 255), levels, batch_dims=1)
  equalized = tf.where(tf.equal(step, 0), levels, equalized)
  equalized = tf.reshape(equalized, [-1, channels, height, width])
  return tf.cast(tf.transpose(equalized, [0, 2, 3, 1]), tf.float32)


def enhance_brightness(
  images: tf.Tensor, factor: tf.Tensor | float
) -> tf.Tensor:
  """Scales the brightness by a factor (`ImageEnhance.Brightness`).

  Factor 1 is the identity; factor 0 returns black.
  """
  return _enhance(images, tf.zeros_like(images), factor)


def enhance_color(images: tf.Tensor, factor: tf.Tensor | float) -> tf.Tensor:
  """Scales the color saturation by a factor (`ImageEnhance.Color`).

  Factor 1 is the identity; factor 0 returns the gray image.
  """
  luma = tf.cast(_luma(images), tf.float32)
  return _enhance(images, luma, factor)


def enhance_contrast(images: tf.Tensor, factor: tf.Tensor | float) -> tf.Tensor:
  """Scales the contrast by a factor (`ImageEnhance.Contrast`).

  Factor 1 is the identity; factor 0 returns the mean gray level everywhere.
  """
  luma = _luma(images)
  num_pixels = tf.reduce_prod(tf.shape(images)[1:3])
  total = tf.reduce_sum(luma, axis=[1, 2, 3], keepdims=True)
  # The mean, rounded half up.
  mean = (2 * total + num_pixels) // (2 * num_pixels)
  return _enhance(images, tf.cast(mean, tf.float32), factor)


def enhance_sharpness(
  images: tf.Tensor, factor: tf.Tensor | float
) -> tf.Tensor:
  """Scales the sharpness by a factor (`ImageEnhance.Sharpness`).

  Factor 1 is the identity; factor 0 smooths all but the outermost pixels.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]])
  of_rows = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
  total = of_rows[:, :, :-2] + of_rows[:, :, 1:-1] + of_rows[:, :, 2:]
  total += (_SMOOTH_MIDDLE - 1) * images
  smooth = tf.floor((total + _SMOOTH_SUM / 2) / _SMOOTH_SUM)
  is_inside = (_is_between_ends(height)[:, tf.newaxis]) & _is_between_ends(
    width
  )
  smooth = tf.where(is_inside[:, :, tf.newaxis], smooth, images)
  return _enhance(images, smooth, factor)


def _enhance(
  images: tf.Tensor, degenerate: tf.Tensor, factor: tf.Tensor | float
) -> tf.Tensor:
  """`Image.blend`: factor 0 returns `degenerate`, factor 1 returns `images`."""
  return _to_gray_levels(
    degenerate + product(_spread(factor), images - degenerate)
  )


def _luma(images: tf.Tensor) -> tf.Tensor:
  """Grayscale as in `Image.convert('L')`, int32 [batch, height, width, 1]."""
  weighted = tf.cast(images, tf.int32) * tf.constant(_LUMA_WEIGHTS)
  total = tf.reduce_sum(weighted, axis=-1, keepdims=True)
  return tf.bitwise.right_shift(total + 0x8000, 16)


def _is_between_ends(size: tf.Tensor) -> tf.Tensor:
  """Whether each index is neither the first nor the last, bool [size]."""
  index = tf.range(size)
  return (index > 0) & (index < size - 1)


def _spread(strength: tf.Tensor | float) -> tf.Tensor:
  """Reshapes per-image values so that they broadcast over pixels."""
  return tf.reshape(tf.cast(strength, tf.float32), [-1, 1, 1, 1])


def _to_gray_levels(values: tf.Tensor) -> tf.Tensor:
  """Clips values to 0..255 and truncates fractions."""
  return tf.floor(tf.clip_by_value(values, 0.0, 255.0))


# More than any product of gray levels.
_LIMIT = 1e30


def product(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """A product of floats below 1e30 that XLA cannot fuse with an addition.

  XLA would round `a * b + c` only once, and some gray levels would differ from
  Pillow's.
  """
  # XLA cannot fuse a minimum into a multiply-add.
  return tf.minimum(first * second, _LIMIT)


def create_fixed_operation(
  name: str, apply: Callable[[tf.Tensor], tf.Tensor]
) -> rand_augment.Operation:
  """An operation without random parameters."""
  return rand_augment.Operation(
    name, lambda num_images, seed: (), lambda images, _: apply(images)
  )
