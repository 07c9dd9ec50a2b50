# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Decodes images in TensorFlow, as Pillow does for training."""

import tensorflow as tf

# Weights of red, green and blue in 1/65536, by which Pillow makes gray.
_GRAY = (19595, 38470, 7471)


def decode(encoded: tf.Tensor, num_channels: int) -> tf.Tensor:
  """Decodes an image.

  Unlike `image_files.read_image_of_any_size`, it does not turn photos upright,
  as TensorFlow does not read EXIF, and takes channels of 16 bits.

  Args:
    encoded: A JPEG or PNG file, string [].
    num_channels: 3 for colors, 1 for gray.

  Returns:
    uint8 [height, width, num_channels].
  """
  # It takes PNG, too. The default method is faster and not exact.
  colors = tf.io.decode_jpeg(encoded, channels=3, dct_method='INTEGER_ACCURATE')
  if num_channels == 3:
    return colors
  weighted = tf.cast(colors, tf.int32) * tf.constant(_GRAY)
  gray = (tf.reduce_sum(weighted, axis=-1, keepdims=True) + 2**15) // 2**16
  return tf.cast(gray, tf.uint8)
