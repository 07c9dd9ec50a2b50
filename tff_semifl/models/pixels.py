# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rescaling and standardization of images for a model."""

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


def standardize_pixels(
  images: tf.Tensor,
  pixel_mean: tuple[float, ...],
  pixel_standard_deviation: tuple[float, ...],
) -> tf.Tensor:
  """Standardizes each channel: (images / 255 - mean) / standard deviation.

  Images are in 0..255, means and standard deviations of each channel in 0..1.
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
