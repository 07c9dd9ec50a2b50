# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The RandAugment of SemiFL's code, with which SemiFL's tables were made.

For each image two operations are drawn, with replacement, from a pool of 15,
and applied with probability 1/2, all at full strength. Translations by
100 pixels and cutout boxes of 40 pixels suit ImageNet. In an image of 32x32
pixels, such a translation leaves nothing, and such a box little. 12.9% of
augmented images are translated, and have only one or two gray levels. The pool
that the paper names is in `fixmatch_policy`.
"""

import functools

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import color_operations
from tff_semifl.augment import geometric_operations
from tff_semifl.augment import rand_augment

NUM_OPERATIONS = 2
# The mean of [0.2, 0.8], from which the authors' code draws a probability for
# each operation of an image. The result has the same distribution.
APPLICATION_PROBABILITY = 0.5

# The authors' values at their strength of 10 out of 10.
_ENHANCEMENT_FACTOR = 1.9
_CUTOUT_PIXELS = 40
_CUTOUT_GRAY_LEVEL = 127
_NUM_BITS = 4
_ROTATION_DEGREES = 30
_SHEAR = 0.3
_SOLARIZATION_THRESHOLD = 0
_TRANSLATION_PIXELS = 100
_BLACK = 0


def build_semifl_rand_augment() -> augmentation.Augmentation:
  """The RandAugment of SemiFL's code, for images with 1 or 3 channels.

  References:
    `src/datasets/randaugment.py` of
    https://github.com/diaoenmao/SemiFL-Semi-Supervised-Federated-Learning-for-Unlabeled-Clients-with-Alternate-Training
  """
  return functools.partial(
    rand_augment.apply_random_operations,
    operations=create_operations(),
    num_operations=NUM_OPERATIONS,
    application_probability=APPLICATION_PROBABILITY,
  )


def create_operations() -> list[rand_augment.Operation]:
  """The 15 operations, named and ordered as in the authors' code."""
  color = color_operations
  fixed = color_operations.create_fixed_operation
  cut_out = functools.partial(
    geometric_operations.cut_out_beside,
    num_pixels=_CUTOUT_PIXELS,
    fill=_CUTOUT_GRAY_LEVEL,
  )
  return [
    fixed('AutoContrast', color.auto_contrast),
    _enhance('Brightness', color.enhance_brightness),
    _enhance('Color', color.enhance_color),
    _enhance('Contrast', color.enhance_contrast),
    rand_augment.Operation(
      'CutoutConst', geometric_operations.draw_points, cut_out
    ),
    fixed('Equalize', color.equalize),
    fixed('Invert', color.invert),
    fixed('Posterize', lambda images: color.posterize(images, _NUM_BITS)),
    rand_augment.Operation('Rotate', geometric_operations.draw_signs, _rotate),
    _enhance('Sharpness', color.enhance_sharpness),
    _move('ShearX', 'b', _SHEAR),
    _move('ShearY', 'd', _SHEAR),
    # At full strength this equals `Invert`, which is thus twice as likely.
    fixed(
      'Solarize', lambda images: color.solarize(images, _SOLARIZATION_THRESHOLD)
    ),
    _move('TranslateXConst', 'c', _TRANSLATION_PIXELS),
    _move('TranslateYConst', 'f', _TRANSLATION_PIXELS),
  ]


def _enhance(name: str, operation) -> rand_augment.Operation:
  return color_operations.create_fixed_operation(
    name, lambda images: operation(images, _ENHANCEMENT_FACTOR)
  )


def _move(name: str, coefficient: str, amount: float) -> rand_augment.Operation:
  """A shear or translation by `amount`, with a random sign."""

  def apply(images: tf.Tensor, signs: tf.Tensor) -> tf.Tensor:
    amounts = tf.cast(signs, tf.float64) * amount
    maps = geometric_operations.affine(**{coefficient: amounts})
    return geometric_operations.fetch_bilinear(images, maps, fill=_BLACK)

  return rand_augment.Operation(name, geometric_operations.draw_signs, apply)


def _rotate(images: tf.Tensor, signs: tf.Tensor) -> tf.Tensor:
  maps = geometric_operations.rotate(signs * _ROTATION_DEGREES, images)
  return geometric_operations.fetch_nearest(images, maps, fill=_BLACK)
