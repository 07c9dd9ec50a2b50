# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The `Augmentation` type, and weak augmentation of images and features."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from tff_semifl.randomness import random_draws

# (uint8 images [batch, height, width, channels], stateless seed, int32 [2]) ->
# images of the same shape and dtype. The same seed gives the same images.
Augmentation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def keep(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Returns the images unchanged."""
  del seed
  return images


def flip_and_crop(
  images: tf.Tensor, seed: tf.Tensor, *, flip: bool, padding: int
) -> tf.Tensor:
  """Flips each image with probability 1/2, then shifts it at random.

  A shift crops the reflect-padded image at one of (2 * padding + 1)^2 equally
  likely offsets; the border pixel is not repeated. With `flip=False` and
  `padding=0` the images are unchanged.

  Args:
    images: [batch, height, width, channels] of any dtype and value range.
    seed: int32 [2], a stateless seed.
    flip: Whether to flip; digits, for example, must not be flipped.
    padding: Largest shift in pixels, less than height and width.
  """
  num_images, height, width, channels = tf.unstack(tf.shape(images))
  for size in images.shape[1:3]:
    if size is not None and padding >= size:
      raise ValueError(
        f'`padding` must be less than the image size {images.shape[1:3]},'
        f' found {padding}.'
      )
  # A single gather does shift, reflection and flip, which only move pixels.
  offsets = random_draws.integers(
    [num_images, 2],
    random_draws.fold_in(seed, 0),
    least=-padding,
    bound=padding + 1,
  )
  rows = _reflect(tf.range(height) + offsets[:, :1], height)
  columns = _reflect(tf.range(width) + offsets[:, 1:], width)
  if flip:
    flipped = (
      random_draws.uniform([num_images, 1], random_draws.fold_in(seed, 1)) < 0.5
    )
    columns = tf.where(flipped, width - 1 - columns, columns)
  # In 64 bits: a chunk may have more than 2^31 pixels.
  rows, columns = tf.cast(rows, tf.int64), tf.cast(columns, tf.int64)
  num_images, height, width = (
    tf.cast(size, tf.int64) for size in (num_images, height, width)
  )
  first_pixels = tf.range(num_images)[:, tf.newaxis] * height
  pixels = (first_pixels + rows)[:, :, tf.newaxis] * width + columns[
    :, tf.newaxis, :
  ]
  augmented = tf.gather(tf.reshape(images, [-1, channels]), pixels)
  return tf.ensure_shape(augmented, images.shape)


def _reflect(index: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
  """Reflects indices into 0..size-1: -i to i, size - 1 + i to size - 1 - i."""
  return (size - 1) - tf.abs((size - 1) - tf.abs(index))


# Standard deviation of the noise, in standard deviations of the feature.
NOISE = 0.5


def add_noise(
  features: tf.Tensor, seed: tf.Tensor, *, standard_deviation: Sequence[float]
) -> tf.Tensor:
  """Adds Gaussian noise of `NOISE` times each feature's standard deviation.

  `features` are float32 [batch, features]; `seed` is stateless, int32 [2].
  """
  noise = random_draws.normal(tf.shape(features), seed)
  return features + NOISE * tf.constant(standard_deviation, tf.float32) * noise
