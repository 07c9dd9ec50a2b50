# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The ranges of pixels that models expect, where images are in 0..255."""

import tensorflow as tf

# Factor and offset.
_SCALES = {
  '0_to_255': (1.0, 0.0),
  '0_to_1': (1 / 255, 0.0),
  '-1_to_1': (1 / 127.5, -1.0),
}
NAMES = tuple(_SCALES)


def rescale(images: tf.Tensor, name: str) -> tf.Tensor:
  """Returns images in the range of that name, one of `NAMES`.

  Args:
    images: float32 [batch, height, width, channels] in 0..255.
    name: The range, such as '-1_to_1'.
  """
  if name == '0_to_255':
    return images
  return tf.keras.layers.Rescaling(*_SCALES[name])(images)
