# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pillow's operations that move or cover pixels, for batches of images.

As in Pillow, an affine map (a, b, c, d, e, f) maps the center (x + 1/2, y +
1/2) of the output pixel in column x and row y to the point

    (a (x + 1/2) + b (y + 1/2) + c, d (x + 1/2) + e (y + 1/2) + f)

of the input. (TensorFlow's own transformation counts from the center of the
first pixel, and blends the border with the fill.)
"""

from collections.abc import Callable
import math

import tensorflow as tf

from tff_semifl.augment import color_operations
from tff_semifl.randomness import random_draws

# The precision of Pillow's nearest-neighbor coordinates, 2^-16.
_FIXED_POINT_BITS = 16


def affine(**numbers: tf.Tensor) -> tf.Tensor:
  """Affine maps, float64 [batch, 6], that are the identity except at `numbers`.

  `numbers`, [batch], are coefficients named a to f: b shears rows, d shears
  columns, and c and f shift the image left and up by that many pixels.
  """
  numbers = {
    name: tf.cast(number, tf.float64) for name, number in numbers.items()
  }
  zeros = tf.zeros_like(next(iter(numbers.values())))
  identity = {'a': zeros + 1.0, 'e': zeros + 1.0}
  return tf.stack(
    [{**identity, **numbers}.get(name, zeros) for name in 'abcdef'], axis=1
  )


def rotate(degrees: tf.Tensor, images: tf.Tensor) -> tf.Tensor:
  """Affine maps, float64 [batch, 6], that rotate about the images' center.

  Degrees, [batch], are counter-clockwise.
  """
  height, width = tf.unstack(tf.cast(tf.shape(images)[1:3], tf.float64) / 2.0)
  angle = tf.cast(degrees, tf.float64) * (-math.pi / 180.0)
  cosine, sine = tf.cos(angle), tf.sin(angle)
  return affine(
    a=cosine,
    b=sine,
    c=width
    - color_operations.product(cosine, width)
    - color_operations.product(sine, height),
    d=-sine,
    e=cosine,
    f=height
    + color_operations.product(sine, width)
    - color_operations.product(cosine, height),
  )


def fetch_nearest(
  images: tf.Tensor, maps: tf.Tensor, *, fill: float
) -> tf.Tensor:
  """Applies affine maps with nearest-neighbor interpolation (`Image.NEAREST`).

  Images are float32 [batch, height, width, channels], maps float64 [batch, 6];
  `fill` is the gray level, 0..255, of points outside of the image.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  a, b, c, d, e, f = tf.unstack(maps[:, :, tf.newaxis, tf.newaxis], axis=1)
  # From here on, (x, y) is the upper left corner of a pixel, not the center.
  c += 0.5 * a + 0.5 * b
  f += 0.5 * d + 0.5 * e
  a, b, c, d, e, f = (
    tf.cast(tf.floor(number * 2.0**_FIXED_POINT_BITS + 0.5), tf.int32)
    for number in (a, b, c, d, e, f)
  )
  x = tf.range(width)[tf.newaxis, tf.newaxis, :]
  y = tf.range(height)[tf.newaxis, :, tf.newaxis]
  columns = tf.bitwise.right_shift(a * x + b * y + c, _FIXED_POINT_BITS)
  rows = tf.bitwise.right_shift(d * x + e * y + f, _FIXED_POINT_BITS)
  is_inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
  return tf.where(
    is_inside[..., tf.newaxis],
    _fetch(images, columns, rows),
    tf.cast(fill, images.dtype),
  )


def fetch_bilinear(
  images: tf.Tensor, maps: tf.Tensor, *, fill: float
) -> tf.Tensor:
  """Applies affine maps with bilinear interpolation (`Image.BILINEAR`).

  Interpolation at the border repeats border pixels. Fractions of gray levels
  are truncated. Arguments are as in `fetch_nearest`.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  a, b, c, d, e, f = tf.unstack(maps[:, :, tf.newaxis, tf.newaxis], axis=1)
  x = tf.cast(tf.range(width), tf.float64)[tf.newaxis, tf.newaxis, :] + 0.5
  y = tf.cast(tf.range(height), tf.float64)[tf.newaxis, :, tf.newaxis] + 0.5
  columns = color_operations.product(a, x) + color_operations.product(b, y) + c
  rows = color_operations.product(d, x) + color_operations.product(e, y) + f
  is_inside = (
    (columns >= 0.0)
    & (columns < tf.cast(width, tf.float64))
    & (rows >= 0.0)
    & (rows < tf.cast(height, tf.float64))
  )
  columns -= 0.5
  rows -= 0.5
  left, top = tf.floor(columns), tf.floor(rows)
  to_right = (columns - left)[..., tf.newaxis]
  to_bottom = (rows - top)[..., tf.newaxis]
  left, top = tf.cast(left, tf.int32), tf.cast(top, tf.int32)

  def fetch_row(row: tf.Tensor) -> tf.Tensor:
    # With Pillow's precision, because truncation could lower gray levels by 1.
    first = tf.cast(_fetch(images, left, row), tf.float64)
    second = tf.cast(_fetch(images, left + 1, row), tf.float64)
    return first + color_operations.product(second - first, to_right)

  first = fetch_row(top)
  values = first + color_operations.product(
    fetch_row(top + 1) - first, to_bottom
  )
  return tf.where(
    is_inside[..., tf.newaxis],
    tf.cast(tf.floor(values), images.dtype),
    tf.cast(fill, images.dtype),
  )


def cut_out(images: tf.Tensor, boxes: tf.Tensor, *, fill: float) -> tf.Tensor:
  """Covers a box of each image (`ImageDraw.rectangle`).

  Boxes, int32 [batch, 4], are the first column, first row, last column and last
  row that are covered. Boxes may lie outside the image.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  boxes = boxes[:, :, tf.newaxis]
  x, y = tf.range(width), tf.range(height)
  is_in_columns = (x >= boxes[:, 0]) & (x <= boxes[:, 2])
  is_in_rows = (y >= boxes[:, 1]) & (y <= boxes[:, 3])
  is_covered = (
    is_in_rows[:, :, tf.newaxis, tf.newaxis]
    & is_in_columns[:, tf.newaxis, :, tf.newaxis]
  )
  return tf.where(is_covered, tf.cast(fill, images.dtype), images)


def cut_out_beside(
  images: tf.Tensor,
  points: tf.Tensor,
  *,
  num_pixels: tf.Tensor | int,
  fill: float,
) -> tf.Tensor:
  """Covers a square box around a point of each image.

  At the left and upper borders the box moves into the image, as in SemiFL's
  code. `points`, float32 [batch, 2], are x and y as fractions of width and
  height. The side of the box is `num_pixels` + 1, as Pillow draws rectangles.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  size = tf.stack([width, height])
  middle = points * tf.cast(size, tf.float32)
  before = tf.cast(num_pixels, tf.float32) / 2
  first = tf.cast(tf.maximum(middle - before, 0.0), tf.int32)
  # Pillow also covers the last row and column.
  last = tf.minimum(first + num_pixels, size)
  return cut_out(images, tf.concat([first, last], axis=1), fill=fill)


def _fetch(images: tf.Tensor, columns: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
  """Fetches pixels; outside of the image, the nearest border pixels."""
  num_images, height, width, channels = tf.unstack(tf.shape(images))
  first_rows = (tf.range(num_images) * height)[:, tf.newaxis, tf.newaxis]
  pixels = (first_rows + tf.clip_by_value(rows, 0, height - 1)) * width
  pixels += tf.clip_by_value(columns, 0, width - 1)
  return tf.gather(tf.reshape(images, [-1, channels]), pixels)


def draw_signs(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Draws -1 or 1 for each image, equally likely: int32 [num_images]."""
  bits = random_draws.integers([num_images], seed, least=0, bound=2)
  return 2 * bits - 1


def draw_signed(
  draw: Callable[..., tf.Tensor], num_images: tf.Tensor, seed: tf.Tensor
) -> tf.Tensor:
  """Draws a number for each image with `draw`, and gives it a random sign."""
  numbers = draw(num_images, random_draws.fold_in(seed, 0))
  return numbers * draw_signs(num_images, random_draws.fold_in(seed, 1))


def draw_points(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Draws a point for each image: float32 [num_images, 2] in 0..1."""
  return random_draws.uniform([num_images, 2], seed)
