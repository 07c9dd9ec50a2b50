# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Decodes images in TensorFlow, as Pillow does for training."""

import tensorflow as tf

# Weights of red, green and blue in 1/65536, by which Pillow makes gray.
_GRAY = (19595, 38470, 7471)
_PNG = b'\x89PNG\r\n\x1a\n'
# The place of a PNG file's type of color, and the types with opacity.
_COLOR_TYPE = 25
_WITH_OPACITY = (b'\x04', b'\x06')
# The chunk of a file of another type that says what is transparent.
_TRANSPARENCY = 'tRNS'


def decode(
  encoded: tf.Tensor, num_channels: int, background: tuple[int, int, int]
) -> tf.Tensor:
  """Decodes an image.

  Unlike `image_files.read_image_of_any_size`, it does not turn photos upright,
  as TensorFlow does not read EXIF, and takes channels of 16 bits.

  Args:
    encoded: A JPEG or PNG file, string [].
    num_channels: 3 for colors, 1 for gray.
    background: Red, green and blue behind what is transparent, in 0..255.

  Returns:
    uint8 [height, width, num_channels].
  """
  colors = tf.cond(
    _is_transparent(encoded),
    lambda: _flatten(tf.io.decode_png(encoded, channels=4), background),
    # It takes PNG, too. The default method is faster and not exact.
    lambda: tf.io.decode_jpeg(
      encoded, channels=3, dct_method='INTEGER_ACCURATE'
    ),
  )
  if num_channels == 3:
    return colors
  weighted = tf.cast(colors, tf.int32) * tf.constant(_GRAY)
  gray = (tf.reduce_sum(weighted, axis=-1, keepdims=True) + 2**15) // 2**16
  return tf.cast(gray, tf.uint8)


def _is_transparent(encoded: tf.Tensor) -> tf.Tensor:
  """Returns whether a file may have a pixel that is not opaque, bool [].

  Of files that say nothing of opacity it is not decoded: with fewer than 8
  bits, TensorFlow does not give such pixels that of opaque ones.
  """
  num_bytes = tf.strings.length(encoded)
  # `substr` takes no position that is not there.
  header = tf.strings.substr(
    tf.strings.join([encoded, tf.constant(bytes(_COLOR_TYPE + 1))]),
    0,
    _COLOR_TYPE + 1,
  )
  is_png = tf.strings.substr(header, 0, len(_PNG)) == _PNG
  color_type = tf.strings.substr(header, _COLOR_TYPE, 1)
  without = tf.strings.regex_replace(
    encoded, _TRANSPARENCY, '', replace_global=False
  )
  return is_png & (
    tf.reduce_any(color_type == tf.constant(_WITH_OPACITY))
    | (tf.strings.length(without) < num_bytes)
  )


def _flatten(image: tf.Tensor, background: tuple[int, int, int]) -> tf.Tensor:
  """Returns an image with opacity as it looks in front of a color.

  Args:
    image: uint8 [height, width, 4].
    background: The color.

  Returns:
    uint8 [height, width, 3], rounded to the nearest level.
  """
  levels = tf.cast(image, tf.int32)
  colors, opacity = levels[..., :3], levels[..., 3:]
  mixed = colors * opacity + tf.constant(background) * (255 - opacity)
  return tf.cast((2 * mixed + 255) // 510, tf.uint8)
