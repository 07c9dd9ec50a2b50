# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Operations that move or cover pixels, as Pillow does, for batches of images.

An affine map is given as Pillow has it, by (a, b, c, d, e, f): the middle of
the output pixel in column x and row y, (x + 1/2, y + 1/2), shows the point

    (a (x + 1/2) + b (y + 1/2) + c, d (x + 1/2) + e (y + 1/2) + f)

of the input, whose pixels are squares of size 1 with the first corner at 0.
TensorFlow's own transformation counts from the middle of the first pixel, and
blends the border with what is outside, so that it is not used here.
"""

import math

import tensorflow as tf

from tff_semifl.augment import rounding
from tff_semifl.randomness import random_draws

# Pillow follows pixels in units of 2^-16 where it fetches the nearest.
_FIXED_POINT_BITS = 16


def shear_x(amount: tf.Tensor) -> tf.Tensor:
  """Builds maps that shift row y by `amount` * y.

  Args:
    amount: float64 [batch], pixels by row.

  Returns:
    float64 [batch, 6], the maps.
  """
  return _to_maps(b=amount)


def shear_y(amount: tf.Tensor) -> tf.Tensor:
  """Builds maps that shift column x by `amount` * x.

  Args:
    amount: float64 [batch], pixels by column.

  Returns:
    float64 [batch, 6], the maps.
  """
  return _to_maps(d=amount)


def translate_x(num_pixels: tf.Tensor) -> tf.Tensor:
  """Builds maps that show the pixel that is `num_pixels` to the right.

  Args:
    num_pixels: Numbers [batch].

  Returns:
    float64 [batch, 6], the maps.
  """
  return _to_maps(c=num_pixels)


def translate_y(num_pixels: tf.Tensor) -> tf.Tensor:
  """Builds maps that show the pixel that is `num_pixels` below.

  Args:
    num_pixels: Numbers [batch].

  Returns:
    float64 [batch, 6], the maps.
  """
  return _to_maps(f=num_pixels)


def rotate(degrees: tf.Tensor, images: tf.Tensor) -> tf.Tensor:
  """Returns maps that turn counter-clockwise about the image's middle.

  Args:
    degrees: Numbers [batch].
    images: The images [batch, height, width, channels] to be turned, whose size
      tells where the middle is.

  Returns:
    float64 [batch, 6].
  """
  height, width = tf.unstack(tf.cast(tf.shape(images)[1:3], tf.float64) / 2.0)
  angle = tf.cast(degrees, tf.float64) * (-math.pi / 180.0)
  cosine, sine = tf.cos(angle), tf.sin(angle)
  return _to_maps(
    a=cosine,
    b=sine,
    c=width - rounding.product(cosine, width) - rounding.product(sine, height),
    d=-sine,
    e=cosine,
    f=height + rounding.product(sine, width) - rounding.product(cosine, height),
  )


def fetch_nearest(
  images: tf.Tensor, maps: tf.Tensor, *, fill: float
) -> tf.Tensor:
  """Fetches the pixel that each point lies in (`Image.NEAREST`).

  Args:
    images: float32 [batch, height, width, channels].
    maps: float64 [batch, 6], the affine map of each image.
    fill: Gray level in 0..255 of points outside of the image.

  Returns:
    A tensor like `images`.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  a, b, c, d, e, f = _unstack_maps(maps)
  # From here on, (x, y) is not the middle of a pixel but its first corner.
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
  """Fetches the mean of the four pixels around each point (`Image.BILINEAR`).

  Pixels nearer to the point weigh more; those beyond the border are those at
  the border. Fractions of gray levels are cut off.

  Args:
    images: float32 [batch, height, width, channels].
    maps: float64 [batch, 6], the affine map of each image.
    fill: Gray level in 0..255 of points outside of the image.

  Returns:
    A tensor like `images`.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  a, b, c, d, e, f = _unstack_maps(maps)
  x = tf.cast(tf.range(width), tf.float64)[tf.newaxis, tf.newaxis, :] + 0.5
  y = tf.cast(tf.range(height), tf.float64)[tf.newaxis, :, tf.newaxis] + 0.5
  columns = rounding.product(a, x) + rounding.product(b, y) + c
  rows = rounding.product(d, x) + rounding.product(e, y) + f
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
    # Pillow's precision, or what is exactly a gray level would be cut by one.
    first = tf.cast(_fetch(images, left, row), tf.float64)
    second = tf.cast(_fetch(images, left + 1, row), tf.float64)
    return first + rounding.product(second - first, to_right)

  first = fetch_row(top)
  values = first + rounding.product(fetch_row(top + 1) - first, to_bottom)
  return tf.where(
    is_inside[..., tf.newaxis],
    tf.cast(tf.floor(values), images.dtype),
    tf.cast(fill, images.dtype),
  )


def cut_out(images: tf.Tensor, boxes: tf.Tensor, *, fill: float) -> tf.Tensor:
  """Covers a box of each image (`ImageDraw.rectangle`).

  Args:
    images: [batch, height, width, channels] of any dtype.
    boxes: int32 [batch, 4]: first column, first row, last column and last row
      that are covered. They may lie outside the image.
    fill: Gray level in 0..255 of the box.

  Returns:
    A tensor like `images`.
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


def draw_points(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Draws a point of each image for `cut_out_beside`.

  Args:
    num_images: An integer scalar.
    seed: int32 [2], a stateless seed.

  Returns:
    float32 [num_images, 2], as (x, y) in 0..1.
  """
  return random_draws.uniform([num_images, 2], seed)


def cut_out_beside(
  images: tf.Tensor,
  points: tf.Tensor,
  *,
  num_pixels: tf.Tensor | int,
  fill: float,
) -> tf.Tensor:
  """Covers the box whose first corner is half its size before a point.

  The box is not centered at the point: where the image's border cuts off a part
  of it on one side, the code of SemiFL, like the code that it was taken from,
  adds that part on the other side.

  Args:
    images: [batch, height, width, channels] of any dtype.
    points: float32 [batch, 2], as `draw_points` has them.
    num_pixels: Height and width of the box, but for Pillow's last row and
      column, an integer scalar.
    fill: Gray level in 0..255 of the box.

  Returns:
    A tensor like `images`.
  """
  height, width = tf.unstack(tf.shape(images)[1:3])
  size = tf.stack([width, height])
  middle = points * tf.cast(size, tf.float32)
  before = tf.cast(num_pixels, tf.float32) / 2
  first = tf.cast(tf.maximum(middle - before, 0.0), tf.int32)
  # Pillow covers the last row and column too: one pixel more, if all fit.
  last = tf.minimum(first + num_pixels, size)
  return cut_out(images, tf.concat([first, last], axis=1), fill=fill)


def _to_maps(**numbers: tf.Tensor) -> tf.Tensor:
  """Returns maps, float64 [batch, 6]: the identity, but for `numbers`."""
  numbers = {
    name: tf.cast(number, tf.float64) for name, number in numbers.items()
  }
  zeros = tf.zeros_like(next(iter(numbers.values())))
  identity = {'a': zeros + 1.0, 'e': zeros + 1.0}
  return tf.stack(
    [{**identity, **numbers}.get(name, zeros) for name in 'abcdef'], axis=1
  )


def _unstack_maps(maps: tf.Tensor) -> list[tf.Tensor]:
  """Returns the six numbers, each of the shape [batch, 1, 1]."""
  return tf.unstack(maps[:, :, tf.newaxis, tf.newaxis], axis=1)


def _fetch(images: tf.Tensor, columns: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
  """Fetches pixels, or those at the border for points that are beyond it."""
  num_images, height, width, channels = tf.unstack(tf.shape(images))
  first_rows = (tf.range(num_images) * height)[:, tf.newaxis, tf.newaxis]
  pixels = (first_rows + tf.clip_by_value(rows, 0, height - 1)) * width
  pixels += tf.clip_by_value(columns, 0, width - 1)
  return tf.gather(tf.reshape(images, [-1, channels]), pixels)
