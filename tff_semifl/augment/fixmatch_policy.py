# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Two versions of FixMatch's RandAugment.

For each image two operations are drawn, with replacement, from a pool of 14,
each with its own strength, and applied with probability 1/2. Then a box of each
image is covered (cutout). The versions differ in some strengths, in the fill
around an image, and in the position of the box.

SemiFL's paper names FixMatch's RandAugment (Sohn et al., NeurIPS 2020), but
SemiFL's code has the RandAugment of `semifl_policy`. Zhang et al. use
"RandAugmentMC" of FixMatch's best known PyTorch implementation. In the PyTorch
version, enhancement factors are below 1, and posterization keeps 4 to 7 bits
instead of 1 to 4. Translations are fractions of the image, the fill is black,
and boxes are placed as in SemiFL's code (`cut_out_beside`).
"""

from collections.abc import Callable
import functools
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import color_operations
from tff_semifl.augment import geometric_operations
from tff_semifl.augment import rand_augment
from tff_semifl.randomness import random_draws

_NUM_OPERATIONS = 2
_APPLICATION_PROBABILITY = 0.5
# The fill of the cutout box and, in FixMatch, outside of a moved image.
MID_GRAY = 127

# Strengths are levels in 0..10, of which 1 to 9 are drawn.
FULL_LEVEL = 10
# Strengths at the full level.
_ROTATION_DEGREES = 30
_SHEAR = 0.3
_TRANSLATION_SHARE = 0.3
# The side of the box has 16 pixels, but at most half of the image's side: 14 of
# 28.
_CUTOUT_PIXELS = 16
_CUTOUT_SHARE = 2


class Version(NamedTuple):
  """The settings in which the two versions differ."""

  names: str  # The pool in the order of the version's code.
  enhancement_at_zero: float  # The factor of enhancements at level 0.
  enhancement_range: float  # The factor at full level minus at 0.
  posterization_sign: int  # 1 keeps 4 bits or more, -1 keeps 4 bits or fewer.
  fill: int  # Gray level in 0..255 outside of a moved image.
  # (level, float64 [batch] in -9..9, width or height, an int32 scalar) ->
  # pixels of the translation, [batch].
  compute_translation: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
  # (images, stateless seed, side of the box in pixels, an int32 scalar) ->
  # images with a box covered.
  cut_out: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


def build_fixmatch_rand_augment() -> augmentation.Augmentation:
  """Creates FixMatch's RandAugment, for images with 1 or 3 channels.

  References:
    `libml/augment.py` (augmentation `rac`) and
    `third_party/auto_augment/augmentations.py` of
    https://github.com/google-research/fixmatch
  """
  return _build(FIXMATCH)


def build_fixmatch_pytorch_rand_augment() -> augmentation.Augmentation:
  """Creates the RandAugment of FixMatch in PyTorch, for 1 or 3 channels.

  References:
    `dataset/randaugment.py` of https://github.com/kekmodel/FixMatch-pytorch and
    of
    https://github.com/jhcknzzm/SSFL-Benchmarking-Semi-supervised-Federated-Learning
  """
  return _build(FIXMATCH_PYTORCH)


def _build(version: Version) -> augmentation.Augmentation:
  operations = create_operations(version)

  def augment(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    augmented = rand_augment.apply_random_operations(
      images,
      random_draws.fold_in(seed, 0),
      operations=operations,
      num_operations=_NUM_OPERATIONS,
      application_probability=_APPLICATION_PROBABILITY,
    )
    shortest = tf.reduce_min(tf.shape(images)[1:3])
    num_pixels = tf.minimum(_CUTOUT_PIXELS, shortest // _CUTOUT_SHARE)
    return version.cut_out(augmented, random_draws.fold_in(seed, 1), num_pixels)

  return augment


def create_operations(version: Version) -> list[rand_augment.Operation]:
  """The 14 operations of a version, named as in FixMatch's code.

  Parameters are levels, int32 [batch], in 1..9; signed operations have levels
  in -9..9.
  """
  color = color_operations
  fixed = color_operations.create_fixed_operation
  operations = [
    fixed('Identity', tf.identity),
    fixed('AutoContrast', color.auto_contrast),
    fixed('Equalize', color.equalize),
    rand_augment.Operation('Solarize', _draw_levels, _solarize),
    rand_augment.Operation(
      'Posterize',
      _draw_levels,
      functools.partial(_posterize, sign=version.posterization_sign),
    ),
    _enhance(version, 'Color', color.enhance_color),
    _enhance(version, 'Contrast', color.enhance_contrast),
    _enhance(version, 'Brightness', color.enhance_brightness),
    _enhance(version, 'Sharpness', color.enhance_sharpness),
    _move(version, 'Rotate', _rotate),
    _move(version, 'ShearX', functools.partial(_shear, 'b')),
    _move(version, 'ShearY', functools.partial(_shear, 'd')),
    _translate(version, 'TranslateX', 'c', axis=2),
    _translate(version, 'TranslateY', 'f', axis=1),
  ]
  by_name = {operation.name: operation for operation in operations}
  return [by_name[name] for name in version.names.split()]


def _enhance(
  version: Version, name: str, operation: Callable[..., tf.Tensor]
) -> rand_augment.Operation:
  def apply(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    shares = tf.cast(levels, tf.float64) / FULL_LEVEL
    factors = version.enhancement_range * shares + version.enhancement_at_zero
    return operation(images, factors)

  return rand_augment.Operation(name, _draw_levels, apply)


def _posterize(images: tf.Tensor, levels: tf.Tensor, *, sign: int) -> tf.Tensor:
  change = sign * (4 * levels // FULL_LEVEL)
  return color_operations.posterize(images, 4 + change)


def _solarize(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
  return color_operations.solarize(images, 256 - 256 * levels // FULL_LEVEL)


def _move(
  version: Version, name: str, to_maps: Callable[..., tf.Tensor]
) -> rand_augment.Operation:
  """A geometric operation; `to_maps` is (images, levels) -> affine maps."""
  return rand_augment.Operation(
    name,
    functools.partial(geometric_operations.draw_signed, _draw_levels),
    lambda images, levels: geometric_operations.fetch_nearest(
      images, to_maps(images, levels), fill=version.fill
    ),
  )


def _rotate(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
  return geometric_operations.rotate(
    levels * (_ROTATION_DEGREES // FULL_LEVEL), images
  )


def _shear(coefficient: str, images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
  del images  # The shear is the same for all sizes.
  amounts = tf.cast(levels, tf.float64) * _SHEAR / FULL_LEVEL
  return geometric_operations.affine(**{coefficient: amounts})


def _translate(
  version: Version, name: str, coefficient: str, *, axis: int
) -> rand_augment.Operation:
  def to_maps(images: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    pixels = version.compute_translation(
      tf.cast(levels, tf.float64), tf.shape(images)[axis]
    )
    return geometric_operations.affine(**{coefficient: pixels})

  return _move(version, name, to_maps)


def _draw_levels(num_images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Draws a level in 1..9 for each image: int32 [num_images]."""
  return random_draws.integers([num_images], seed, least=1, bound=FULL_LEVEL)


def _cut_out_around(
  images: tf.Tensor, seed: tf.Tensor, num_pixels: tf.Tensor
) -> tf.Tensor:
  """Covers a box around a random pixel, clipped at the border."""
  num_images, height, width, _ = tf.unstack(tf.shape(images))
  columns, rows = (
    random_draws.integers(
      [num_images], random_draws.fold_in(seed, key), least=0, bound=size
    )
    for key, size in enumerate((width, height))
  )
  before, after = num_pixels // 2, num_pixels // 2 - 1
  boxes = tf.stack(
    [columns - before, rows - before, columns + after, rows + after], axis=1
  )
  return geometric_operations.cut_out(images, boxes, fill=MID_GRAY)


FIXMATCH = Version(
  'Identity AutoContrast Equalize Rotate Solarize Color Contrast Brightness'
  ' Sharpness ShearX TranslateX TranslateY Posterize ShearY',
  enhancement_at_zero=0.1,
  enhancement_range=1.8,
  posterization_sign=-1,
  # FixMatch's code fills with 0, for pixels in -1..1, after some operations.
  # Here each operation fills with the corresponding gray, which a second
  # operation then changes.
  fill=MID_GRAY,
  # One pixel per level, for any image size.
  compute_translation=lambda levels, size: levels,
  cut_out=_cut_out_around,
)


def _translate_by_share(levels: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
  """The translation, a fraction of the image's side, in whole pixels."""
  shares = levels * _TRANSLATION_SHARE / FULL_LEVEL
  # Truncates, like Python's `int`.
  return tf.cast(shares * tf.cast(size, tf.float64), tf.int32)


def _cut_out_beside(
  images: tf.Tensor, seed: tf.Tensor, num_pixels: tf.Tensor
) -> tf.Tensor:
  # For EMNIST the code of Zhang et al. fills with half of the highest level of
  # the image. The result is the same for images with a white pixel.
  return geometric_operations.cut_out_beside(
    images,
    geometric_operations.draw_points(tf.shape(images)[0], seed),
    num_pixels=num_pixels,
    fill=MID_GRAY,
  )


FIXMATCH_PYTORCH = Version(
  'AutoContrast Brightness Color Contrast Equalize Identity Posterize Rotate'
  ' Sharpness ShearX ShearY Solarize TranslateX TranslateY',
  enhancement_at_zero=0.05,
  enhancement_range=0.9,
  posterization_sign=1,
  fill=0,
  compute_translation=_translate_by_share,
  cut_out=_cut_out_beside,
)
