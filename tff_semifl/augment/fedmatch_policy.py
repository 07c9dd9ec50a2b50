# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The RandAugment of FedMatch's authors.

For each image six operations are drawn, with replacement, from a pool of 13,
and all six are applied. Strengths are entries of tables of ten. The index of an
entry is drawn below a bound, and the bound from 2 to 5. In the authors' code
the operations of an image share one bound, and shears interpolate bicubically.
Here each operation draws a bound, and shears interpolate bilinearly.
"""

from collections.abc import Callable
import functools

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import color_operations
from tff_semifl.augment import geometric_operations
from tff_semifl.augment import rand_augment
from tff_semifl.randomness import random_draws

NUM_OPERATIONS = 6

_SMALLEST_BOUND = 2
_LARGEST_BOUND = 5
_LAST_INDEX = 9
_SHEAR = 0.3
_TRANSLATION_SHARE = 0.2
_ROTATION_DEGREES = 360
# The numbers of bits at indices 0 to 4.
_NUM_BITS = (8, 8, 7, 7, 6)
# The first five of ten steps from 256 to 231, rounded up.
_SOLARIZATION_THRESHOLDS = (256, 254, 251, 248, 245)
# The fill around a rotated image. Around a shifted image the fill is black: the
# authors' call passes the gray level where Pillow expects a flag.
_ROTATION_FILL = 128
_BLACK = 0


def build_fedmatch_rand_augment() -> augmentation.Augmentation:
  """FedMatch's RandAugment, for images with 1 or 3 channels.

  References:
    `third_party/rand_augment/randaug.py` and `data/loader.py` of
    https://github.com/wyjeong/FedMatch
  """
  return functools.partial(
    rand_augment.apply_random_operations,
    operations=create_operations(),
    num_operations=NUM_OPERATIONS,
    application_probability=1.0,
  )


def create_operations() -> list[rand_augment.Operation]:
  """The 13 operations, named and ordered as in the authors' code.

  Parameters are table indices, int32 [batch]: 0..4, or -4..4 if signed.
  """
  color = color_operations
  fixed = color_operations.create_fixed_operation
  return [
    fixed('autocontrast', color.auto_contrast),
    # No effect, as in the authors' code.
    fixed('equalize', tf.identity),
    rand_augment.Operation('rotate', _draw_indices, _rotate),
    rand_augment.Operation('solarize', _draw_indices, _solarize),
    _enhance('color', 0.9, color.enhance_color),
    rand_augment.Operation('posterize', _draw_indices, _posterize),
    _enhance('contrast', 0.5, color.enhance_contrast),
    _enhance('brightness', 0.3, color.enhance_brightness),
    _enhance('sharpness', 0.9, color.enhance_sharpness),
    _shear('shearX', 'b'),
    _shear('shearY', 'd'),
    _translate('translateX', 'c', axis=2),
    _translate('translateY', 'f', axis=1),
  ]


def _two_ways(
  name: str, amount: float, apply: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
) -> rand_augment.Operation:
  """An operation with strength `amount` * index / 9 and a random sign."""
  return rand_augment.Operation(
    name,
    functools.partial(geometric_operations.draw_signed, _draw_indices),
    lambda images, indices: apply(
      images, tf.cast(indices, tf.float64) * amount / _LAST_INDEX
    ),
  )


def _enhance(
  name: str, amount: float, operation: Callable[..., tf.Tensor]
) -> rand_augment.Operation:
  return _two_ways(
    name, amount, lambda images, amounts: operation(images, 1.0 + amounts)
  )


def _shear(name: str, coefficient: str) -> rand_augment.Operation:
  def apply(images: tf.Tensor, amounts: tf.Tensor) -> tf.Tensor:
    maps = geometric_operations.affine(**{coefficient: amounts})
    return geometric_operations.fetch_bilinear(images, maps, fill=_BLACK)

  return _two_ways(name, _SHEAR, apply)


def _translate(
  name: str, coefficient: str, *, axis: int
) -> rand_augment.Operation:
  def apply(images: tf.Tensor, amounts: tf.Tensor) -> tf.Tensor:
    pixels = amounts * tf.cast(tf.shape(images)[axis], tf.float64)
    maps = geometric_operations.affine(**{coefficient: pixels})
    return geometric_operations.fetch_nearest(images, maps, fill=_BLACK)

  return _two_ways(name, _TRANSLATION_SHARE, apply)


def _rotate(images: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
  degrees = indices * (_ROTATION_DEGREES // _LAST_INDEX)
  maps = geometric_operations.rotate(degrees, images)
  return geometric_operations.fetch_nearest(images, maps, fill=_ROTATION_FILL)


def _solarize(images: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
  return color_operations.solarize(
    images, tf.gather(_SOLARIZATION_THRESHOLDS, indices)
  )


def _posterize(images: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
  return color_operations.posterize(images, tf.gather(_NUM_BITS, indices))


def _draw_indices(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Draws indices, int32 [num_images], each below a random bound."""
  bounds = random_draws.integers(
    [num_images],
    random_draws.fold_in(seed, 0),
    least=_SMALLEST_BOUND,
    bound=_LARGEST_BOUND + 1,
  )
  shares = random_draws.uniform([num_images], random_draws.fold_in(seed, 1))
  return tf.cast(shares * tf.cast(bounds, tf.float32), tf.int32)
