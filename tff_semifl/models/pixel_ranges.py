# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rescaling of images to the pixel range that a model expects."""

import tensorflow as tf

_FACTORS_AND_OFFSETS = {
  '0_to_255': (1.0, 0.0),
  '0_to_1': (1 / 255, 0.0),
  '-1_to_1': (1 / 127.5, -1.0),
}
NAMES = tuple(_FACTORS_AND_OFFSETS)


def rescale(images: tf.Tensor, name: str) -> tf.Tensor:
  """Rescales images in 0..255 to the range `name`, one of `NAMES`."""
  if name == '0_to_255':
    return images
  return tf.keras.layers.Rescaling(*_FACTORS_AND_OFFSETS[name])(images)
