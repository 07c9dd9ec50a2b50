# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The RandAugment of FixMatch (Sohn et al., NeurIPS 2020; D24).

For each image two operations are drawn, with replacement, from a pool of 14,
each with a strength of its own, and each is applied or not. Then a box of 16x16
pixels is covered, always; a smaller one of images smaller than FixMatch's. The
paper of SemiFL says that it uses this RandAugment; its code has another, that
of `semifl_policy`.
"""

from collections.abc import Callable

import tensorflow as tf

from tff_semifl import random_seeds
from tff_semifl.augment import color_operations
from tff_semifl.augment import geometric_operations
from tff_semifl.augment import rand_augment

NUM_OPERATIONS = 2
APPLICATION_PROBABILITY = 0.5

# Strengths are out of ten; neither nothing nor everything is drawn.
_FULL_LEVEL = 10
# What FixMatch shows where there is no image: 0, of pixels in -1..1. Its code
# covers such pixels at the end, after some of the operations; here they are
# that grey from the start, and a second operation acts on them.
_MID_GREY = 127
# At most half of the image: 16 pixels of 32 and more, as in FixMatch, 14 of 28,
# as others have it who follow it (C.3).
_CUTOUT_PIXELS = 16
_CUTOUT_SHARE = 2
# At the full level.
_ROTATION_DEGREES = 30
_SHEAR = 0.3
_TRANSLATION_PIXELS = 10


def build_fixmatch_rand_augment() -> (
  Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
):
  """Builds FixMatch's RandAugment as a function of images and a seed.

  Returns:
    A function of uint8 images [batch, height, width, 1 or 3] and a stateless
    seed, int32 [2], that returns images of the same shape and dtype.

  References:
    `libml/augment.py` (augmentation `rac`) and
    `third_party/auto_augment/augmentations.py` of
    https://github.com/google-research/fixmatch
  """
  operations = create_operations()

  def augment(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    views = rand_augment.apply_random_operations(
      images,
      random_seeds.fold_in(seed, 0),
      operations=operations,
      num_operations=NUM_OPERATIONS,
      application_probability=APPLICATION_PROBABILITY,
    )
    return _cut_out(views, random_seeds.fold_in(seed, 1))

  return augment


def create_operations() -> list[rand_augment.Operation]:
  """Returns the 14 operations, under the names that they have in the code.

  Their parameters are levels, int32 [batch] in 1..9, or in -9..-1 as well where
  there are two directions.
  """
  color = color_operations
  geometric = geometric_operations
  fixed = rand_augment.create_fixed_operation

  def enhance(name: str, operation) -> rand_augment.Operation:
    def apply(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
      fractions = tf.cast(levels, tf.float64) / _FULL_LEVEL
      return operation(images, 1.8 * fractions + 0.1)

    return rand_augment.Operation(name, draw_levels, apply)

  def posterize(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    return color.posterize(images, 4 - 4 * levels // _FULL_LEVEL)

  def solarize(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    return color.solarize(images, 256 - 256 * levels // _FULL_LEVEL)

  def rotate(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    degrees = levels * (_ROTATION_DEGREES // _FULL_LEVEL)
    maps = geometric.rotate(degrees, images)
    return geometric.fetch_nearest(images, maps, fill=_MID_GREY)

  def move(name: str, amount: float, to_maps) -> rand_augment.Operation:
    """An affine map, of `amount` at the full level, in either direction."""

    def apply(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
      amounts = tf.cast(levels, tf.float64) * amount / _FULL_LEVEL
      return geometric.fetch_nearest(images, to_maps(amounts), fill=_MID_GREY)

    return rand_augment.Operation(name, draw_signed_levels, apply)

  return [
    fixed('Identity', tf.identity),
    fixed('AutoContrast', color.auto_contrast),
    fixed('Equalize', color.equalize),
    rand_augment.Operation('Rotate', draw_signed_levels, rotate),
    rand_augment.Operation('Solarize', draw_levels, solarize),
    enhance('Color', color.enhance_color),
    enhance('Contrast', color.enhance_contrast),
    enhance('Brightness', color.enhance_brightness),
    enhance('Sharpness', color.enhance_sharpness),
    move('ShearX', _SHEAR, geometric.shear_x),
    move('TranslateX', _TRANSLATION_PIXELS, geometric.translate_x),
    move('TranslateY', _TRANSLATION_PIXELS, geometric.translate_y),
    rand_augment.Operation('Posterize', draw_levels, posterize),
    move('ShearY', _SHEAR, geometric.shear_y),
  ]


def draw_levels(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Draws a level for each image, int32 [num_images] in 1..9.

  Args:
    num_images: An integer scalar.
    seed: int32 [2], a stateless seed.
  """
  return tf.random.stateless_uniform(
    [num_images], seed, minval=1, maxval=_FULL_LEVEL, dtype=tf.int32
  )


def draw_signed_levels(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Draws a level, and then one of two directions, for each image.

  Args:
    num_images: An integer scalar.
    seed: int32 [2], a stateless seed.

  Returns:
    int32 [num_images] in 1..9 and -9..-1.
  """
  levels = draw_levels(num_images, random_seeds.fold_in(seed, 0))
  return levels * rand_augment.draw_signs(
    num_images, random_seeds.fold_in(seed, 1)
  )


def _cut_out(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Covers the rows and columns around a pixel, as far as there are any."""
  num_images, height, width, _ = tf.unstack(tf.shape(images))
  columns, rows = (
    tf.random.stateless_uniform(
      [num_images],
      random_seeds.fold_in(seed, key),
      minval=0,
      maxval=size,
      dtype=tf.int32,
    )
    for key, size in enumerate((width, height))
  )
  size = tf.minimum(_CUTOUT_PIXELS, tf.minimum(height, width) // _CUTOUT_SHARE)
  before, after = size // 2, size // 2 - 1
  boxes = tf.stack(
    [columns - before, rows - before, columns + after, rows + after], axis=1
  )
  return geometric_operations.cut_out(images, boxes, fill=_MID_GREY)
