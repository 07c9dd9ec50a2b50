# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Resizes images and scales pixels, in training and in exported models.

This module uses only TensorFlow, the only library that exported models need.
"""

import tensorflow as tf


def standardize(
  images: tf.Tensor,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
) -> tf.Tensor:
  """Standardizes each channel: (images / 255 - mean) / standard deviation.

  Images are in 0..255; means and standard deviations, one per channel, in 0..1.
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


def fit_to_size(images: tf.Tensor, height: int, width: int) -> tf.Tensor:
  """Applies `scale_and_crop` to uint8 images, and rounds to integers."""
  return tf.round(scale_and_crop(images, height, width))


def scale_and_crop(images: tf.Tensor, height: int, width: int) -> tf.Tensor:
  """Scales images until they cover a size, then crops the center.

  Scaling is bilinear, with antialiasing if images shrink. Images of the right
  size are unchanged. Maps uint8 or float32 [batch, any height, any width,
  channels] to float32 [batch, height, width, channels], in 0..255.
  """
  found = tf.shape(images)[1:3]
  wanted = tf.constant([height, width])

  def scale() -> tf.Tensor:
    ratios = tf.cast(wanted, tf.float32) / tf.cast(found, tf.float32)
    scale = tf.reduce_max(ratios)
    covered = tf.cast(found, tf.float32) * scale
    # `tf.image.resize` cannot crop at the same time.
    return tf.raw_ops.ScaleAndTranslate(
      images=images,
      size=wanted,
      scale=[scale, scale],
      translation=(tf.cast(wanted, tf.float32) - covered) / 2,
      kernel_type='triangle',
      antialias=True,
    )

  fitted = tf.cond(
    tf.reduce_all(found == wanted), lambda: tf.cast(images, tf.float32), scale
  )
  return tf.ensure_shape(fitted, [None, height, width, images.shape[-1]])
