# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The RandAugment of FixMatch's best known PyTorch version (C.3).

The benchmark of semi-supervised federated learning has it, as "RandAugmentMC".
The pool is FixMatch's, two operations of 14, and a box is covered in the end;
but enhancements only take away, posterising keeps four bits more, shifts are
shares of the image, what comes in from outside is black, and the box lies
beside its point as in SemiFL's code. `fixmatch_policy` has FixMatch's own
(D24). The paper speaks of twelve operations (D29).
"""

from collections.abc import Callable

import tensorflow as tf

from tff_semifl import random_seeds
from tff_semifl.augment import color_operations
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import geometric_operations
from tff_semifl.augment import rand_augment

# Levels are 1 to 9 of ten, as FixMatch's are.
_FULL_LEVEL = 10
_BLACK = 0
# For EMNIST the benchmark's code has half of the image's brightest level: that
# is the same wherever there is a white pixel.
_CUTOUT_GREY_LEVEL = 127
# At most half of the image: 16 pixels of 32 and more, 14 of 28.
_CUTOUT_PIXELS = 16
_CUTOUT_SHARE = 2
# At the full level.
_ROTATION_DEGREES = 30
_SHEAR = 0.3
_TRANSLATION_SHARE = 0.3


def build_fixmatch_pytorch_rand_augment() -> (
  Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
):
  """Builds this RandAugment as a function of images and a seed.

  Returns:
    A function of uint8 images [batch, height, width, 1 or 3] and a stateless
    seed, int32 [2], that returns images of the same shape and dtype.

  References:
    `dataset/randaugment.py` of https://github.com/kekmodel/FixMatch-pytorch
    and of
    https://github.com/jhcknzzm/SSFL-Benchmarking-Semi-supervised-Federated-Learning
  """
  operations = create_operations()

  def augment(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    views = rand_augment.apply_random_operations(
      images,
      random_seeds.fold_in(seed, 0),
      operations=operations,
      num_operations=fixmatch_policy.NUM_OPERATIONS,
      application_probability=fixmatch_policy.APPLICATION_PROBABILITY,
    )
    num_images, height, width, _ = tf.unstack(tf.shape(images))
    return geometric_operations.cut_out_beside(
      views,
      geometric_operations.draw_points(
        num_images, random_seeds.fold_in(seed, 1)
      ),
      num_pixels=tf.minimum(
        _CUTOUT_PIXELS, tf.minimum(height, width) // _CUTOUT_SHARE
      ),
      fill=_CUTOUT_GREY_LEVEL,
    )

  return augment


def create_operations() -> list[rand_augment.Operation]:
  """Returns the 14 operations, under the names that they have in the code.

  Their parameters are levels, int32 [batch] in 1..9, or in -9..-1 as well where
  there are two directions.
  """
  color = color_operations
  geometric = geometric_operations
  fixed = rand_augment.create_fixed_operation
  draw_levels = fixmatch_policy.draw_levels
  draw_signed_levels = fixmatch_policy.draw_signed_levels

  def enhance(name: str, operation) -> rand_augment.Operation:
    def apply(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
      fractions = tf.cast(levels, tf.float64) / _FULL_LEVEL
      return operation(images, 0.9 * fractions + 0.05)

    return rand_augment.Operation(name, draw_levels, apply)

  def posterize(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    return color.posterize(images, 4 + 4 * levels // _FULL_LEVEL)

  def solarize(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    return color.solarize(images, 256 - 256 * levels // _FULL_LEVEL)

  def rotate(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    degrees = levels * (_ROTATION_DEGREES // _FULL_LEVEL)
    maps = geometric.rotate(degrees, images)
    return geometric.fetch_nearest(images, maps, fill=_BLACK)

  def shear(name: str, to_maps) -> rand_augment.Operation:
    def apply(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
      amounts = tf.cast(levels, tf.float64) * _SHEAR / _FULL_LEVEL
      return geometric.fetch_nearest(images, to_maps(amounts), fill=_BLACK)

    return rand_augment.Operation(name, draw_signed_levels, apply)

  def translate(name: str, axis: int, to_maps) -> rand_augment.Operation:
    def apply(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
      amounts = tf.cast(levels, tf.float64) * _TRANSLATION_SHARE / _FULL_LEVEL
      amounts *= tf.cast(tf.shape(images)[axis], tf.float64)
      # Whole pixels, cut off towards zero as Python's `int` does.
      maps = to_maps(tf.cast(amounts, tf.int32))
      return geometric.fetch_nearest(images, maps, fill=_BLACK)

    return rand_augment.Operation(name, draw_signed_levels, apply)

  return [
    fixed('AutoContrast', color.auto_contrast),
    enhance('Brightness', color.enhance_brightness),
    enhance('Color', color.enhance_color),
    enhance('Contrast', color.enhance_contrast),
    fixed('Equalize', color.equalize),
    fixed('Identity', tf.identity),
    rand_augment.Operation('Posterize', draw_levels, posterize),
    rand_augment.Operation('Rotate', draw_signed_levels, rotate),
    enhance('Sharpness', color.enhance_sharpness),
    shear('ShearX', geometric.shear_x),
    shear('ShearY', geometric.shear_y),
    rand_augment.Operation('Solarize', draw_levels, solarize),
    translate('TranslateX', 2, geometric.translate_x),
    translate('TranslateY', 1, geometric.translate_y),
  ]
