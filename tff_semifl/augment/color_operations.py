# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Operations on gray levels, as Pillow computes them, for batches of images.

RandAugment's operations are defined by what Pillow's `ImageOps` and
`ImageEnhance` do, down to what is rounded, what is cut off, and when (C.3). The
layers of KerasCV are close, but equalize with another step, keep fractions of
gray levels, and posterize all images alike; so these are written out.

All take and return float32 images [batch, height, width, 3] in whole gray
levels, 0 to 255. A strength is a number for each image, or one for all.
"""

import tensorflow as tf

from tff_semifl.augment import rounding

# Pillow's weights of red, green and blue in a gray image, in units of 2^-16:
# those of ITU-R 601-2.
_LUMA_WEIGHTS = (19595, 38470, 7471)
# Pillow's SMOOTH kernel: 5 in the middle, 1 for each of eight neighbors.
_SMOOTH_MIDDLE = 5
_SMOOTH_SUM = 13


def invert(images: tf.Tensor) -> tf.Tensor:
  """Turns every gray level p to 255 - p (`ImageOps.invert`).

  Args:
    images: float32 [batch, height, width, 3].

  Returns:
    A tensor like `images`.
  """
  return 255.0 - images


def solarize(images: tf.Tensor, threshold: tf.Tensor | int) -> tf.Tensor:
  """Inverts gray levels from a threshold on (`ImageOps.solarize`).

  A threshold of 256 returns the images as they are, 0 inverts them.

  Args:
    images: float32 [batch, height, width, 3].
    threshold: Integers [batch] or a scalar, in 0..256.

  Returns:
    A tensor like `images`.
  """
  return tf.where(images < _spread(threshold), images, 255.0 - images)


def posterize(images: tf.Tensor, num_bits: tf.Tensor | int) -> tf.Tensor:
  """Keeps the highest bits of every gray level (`ImageOps.posterize`).

  8 bits returns the images as they are.

  Args:
    images: float32 [batch, height, width, 3].
    num_bits: Integers [batch] or a scalar, in 0..8.

  Returns:
    A tensor like `images`.
  """
  step = _spread(tf.bitwise.left_shift(1, 8 - num_bits))
  return tf.floor(images / step) * step


def auto_contrast(images: tf.Tensor) -> tf.Tensor:
  """Stretches each channel to all of 0..255 (`ImageOps.autocontrast`).

  A channel of a single gray level stays as it is.

  Args:
    images: float32 [batch, height, width, 3].

  Returns:
    A tensor like `images`.
  """
  # In float64, as Pillow makes its table: the highest level may come out as
  # 254.99..., which is cut to 254, and must do so for the same images.
  levels = tf.cast(images, tf.float64)
  lowest = tf.reduce_min(levels, axis=[1, 2], keepdims=True)
  highest = tf.reduce_max(levels, axis=[1, 2], keepdims=True)
  is_flat = highest <= lowest
  scale = 255.0 / tf.where(is_flat, tf.ones_like(highest), highest - lowest)
  stretched = _to_gray_levels(
    rounding.product(levels, scale) + rounding.product(-lowest, scale)
  )
  return tf.cast(tf.where(is_flat, levels, stretched), tf.float32)


def equalize(images: tf.Tensor) -> tf.Tensor:
  """Makes gray levels equally frequent by channel (`ImageOps.equalize`).

  A channel of a single gray level stays as it is, and so does one of fewer than
  255 pixels below its highest level: that is all images of 15x15 or less.

  Args:
    images: float32 [batch, height, width, 3].

  Returns:
    A tensor like `images`.
  """
  _, height, width, channels = tf.unstack(tf.shape(images))
  num_pixels = height * width
  # A row for each channel of each image.
  levels = tf.reshape(
    tf.transpose(tf.cast(images, tf.int32), [0, 3, 1, 2]), [-1, num_pixels]
  )
  highest = tf.reduce_max(levels, axis=1, keepdims=True)
  # Not `==`, which in the graph of a TFF computation compares identities.
  num_highest = tf.math.count_nonzero(
    tf.equal(levels, highest), axis=1, keepdims=True, dtype=tf.int32
  )
  step = (num_pixels - num_highest) // 255
  # Not `tf.math.bincount`, of which XLA does not know the size in a loop.
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
  # Remainders of the division can lead beyond white.
  equalized = tf.gather(tf.minimum(table, 255), levels, batch_dims=1)
  equalized = tf.where(tf.equal(step, 0), levels, equalized)
  equalized = tf.reshape(equalized, [-1, channels, height, width])
  return tf.cast(tf.transpose(equalized, [0, 2, 3, 1]), tf.float32)


def enhance_brightness(
  images: tf.Tensor, factor: tf.Tensor | float
) -> tf.Tensor:
  """Moves away from black by a factor (`ImageEnhance.Brightness`).

  A factor of 1 returns the images as they are, 0 makes them black.

  Args:
    images: float32 [batch, height, width, 3].
    factor: Floats [batch] or a scalar, not negative.

  Returns:
    A tensor like `images`.
  """
  return _enhance(images, tf.zeros_like(images), factor)


def enhance_color(images: tf.Tensor, factor: tf.Tensor | float) -> tf.Tensor:
  """Moves away from the gray image by a factor (`ImageEnhance.Color`).

  A factor of 1 returns the images as they are, 0 makes them gray.

  Args:
    images: float32 [batch, height, width, 3].
    factor: Floats [batch] or a scalar, not negative.

  Returns:
    A tensor like `images`.
  """
  luma = tf.cast(_luma(images), tf.float32)
  return _enhance(images, luma, factor)


def enhance_contrast(images: tf.Tensor, factor: tf.Tensor | float) -> tf.Tensor:
  """Moves away from the mean of the gray image (`ImageEnhance.Contrast`).

  A factor of 1 returns the images as they are, 0 makes them that mean.

  Args:
    images: float32 [batch, height, width, 3].
    factor: Floats [batch] or a scalar, not negative.

  Returns:
    A tensor like `images`.
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
  """Moves away from the smoothed image by a factor (`ImageEnhance.Sharpness`).

  A factor of 1 returns the images as they are, 0 smooths them. The outermost
  pixels stay as they are.

  Args:
    images: float32 [batch, height, width, 3].
    factor: Floats [batch] or a scalar, not negative.

  Returns:
    A tensor like `images`.
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
  """Blends as `Image.blend`: 0 gives the degenerate image, 1 the image."""
  return _to_gray_levels(
    degenerate + rounding.product(_spread(factor), images - degenerate)
  )


def _luma(images: tf.Tensor) -> tf.Tensor:
  """Returns `Image.convert('L')`, as int32 [batch, height, width, 1]."""
  weighted = tf.cast(images, tf.int32) * tf.constant(_LUMA_WEIGHTS)
  total = tf.reduce_sum(weighted, axis=-1, keepdims=True)
  return tf.bitwise.right_shift(total + 0x8000, 16)


def _is_between_ends(size: tf.Tensor) -> tf.Tensor:
  """Returns bool [size], true but for the first and the last."""
  index = tf.range(size)
  return (index > 0) & (index < size - 1)


def _spread(strength: tf.Tensor | float) -> tf.Tensor:
  """Returns numbers of images in the shape in which they meet the images."""
  return tf.reshape(tf.cast(strength, tf.float32), [-1, 1, 1, 1])


def _to_gray_levels(values: tf.Tensor) -> tf.Tensor:
  """Clips to 0..255 and cuts off fractions, as a cast to a byte does."""
  return tf.floor(tf.clip_by_value(values, 0.0, 255.0))
