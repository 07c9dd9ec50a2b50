# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Decodes images in TensorFlow as Pillow does for training."""

import tensorflow as tf

# Pillow's weights of red, green and blue for gray, in 1/65536.
_GRAY = (19595, 38470, 7471)
_PNG = b'\x89PNG\r\n\x1a\n'
# The offset of the color type in a PNG file, and the types with an alpha
# channel.
_COLOR_TYPE = 25
_WITH_OPACITY = (b'\x04', b'\x06')
# The PNG chunk that declares transparency for the other color types.
_TRANSPARENCY = 'tRNS'


def decode(
  encoded: tf.Tensor, num_channels: int, background: tuple[int, int, int]
) -> tf.Tensor:
  """Decodes a JPEG or PNG file.

  Unlike `image_files.read_image_of_any_size`, ignores EXIF orientation, which
  TensorFlow does not read, and accepts 16-bit channels.

  Args:
    encoded: The file's bytes, string [].
    background: RGB color behind transparent pixels, in 0..255.

  Returns:
    uint8 [height, width, num_channels].
  """
  colors = tf.cond(
    _is_transparent(encoded),
    lambda: _flatten(tf.io.decode_png(encoded, channels=4), background),
    # Decodes PNG, too. The default DCT method is faster but inexact.
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
  """Whether a PNG declares transparency, bool [].

  Opaque files must not be decoded with four channels: below 8 bits, TensorFlow
  gives their pixels a wrong opacity.
  """
  num_bytes = tf.strings.length(encoded)
  # Padded, because `substr` fails past the end of a string.
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
  """Blends an RGBA image with a background color.

  Args:
    image: uint8 [height, width, 4].

  Returns:
    uint8 [height, width, 3], rounded to the nearest level.
  """
  levels = tf.cast(image, tf.int32)
  colors, opacity = levels[..., :3], levels[..., 3:]
  mixed = colors * opacity + tf.constant(background) * (255 - opacity)
  return tf.cast((2 * mixed + 255) // 510, tf.uint8)
