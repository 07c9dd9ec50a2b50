# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Resizes images of any size to a model's input size."""

import tensorflow as tf


def fit_to_size(images: tf.Tensor, height: int, width: int) -> tf.Tensor:
  """Scales images until they cover a size, then crops the center.

  Scaling is bilinear, with antialiasing where images shrink, like
  `image_files.OnOddSize.RESIZE` in training. Images of the right size are
  unchanged.

  Args:
    images: uint8 [batch, any height, any width, channels].
    height: Height of the results.
    width: Width of the results.

  Returns:
    float32 [batch, height, width, channels] in 0..255.
  """
  found = tf.shape(images)[1:3]
  wanted = tf.constant([height, width])

  def scale_and_crop() -> tf.Tensor:
    ratios = tf.cast(wanted, tf.float32) / tf.cast(found, tf.float32)
    scale = tf.reduce_max(ratios)
    covered = tf.cast(found, tf.float32) * scale
    # The operation behind `tf.image.resize`, which cannot crop at the same
    # time.
    return tf.raw_ops.ScaleAndTranslate(
      images=images,
      size=wanted,
      scale=[scale, scale],
      translation=(tf.cast(wanted, tf.float32) - covered) / 2,
      kernel_type='triangle',
      antialias=True,
    )

  fitted = tf.cond(
    tf.reduce_all(found == wanted),
    lambda: tf.cast(images, tf.float32),
    scale_and_crop,
  )
  return tf.ensure_shape(fitted, [None, height, width, images.shape[-1]])
