# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The RandAugment of FixMatch (Sohn et al., NeurIPS 2020).

SemiFL's paper says that it uses this RandAugment; its code has that of
`semifl_policy`.
"""

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_pool
from tff_semifl.augment import geometric_operations
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds


def build_fixmatch_rand_augment() -> augmentation.Augmentation:
  """FixMatch's RandAugment, for images with 1 or 3 channels.

  References:
    `libml/augment.py` (augmentation `rac`) and
    `third_party/auto_augment/augmentations.py` of
    https://github.com/google-research/fixmatch
  """
  return fixmatch_pool.build_rand_augment(VERSION)


def _translate(levels: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
  """One pixel per level, whatever the size of the image."""
  del size
  return levels


def _cut_out_around(
  images: tf.Tensor, seed: tf.Tensor, num_pixels: tf.Tensor
) -> tf.Tensor:
  """Covers a box around a random pixel, clipped at the border."""
  num_images, height, width, _ = tf.unstack(tf.shape(images))
  columns, rows = (
    random_draws.integers(
      [num_images], random_seeds.fold_in(seed, key), least=0, bound=size
    )
    for key, size in enumerate((width, height))
  )
  before, after = num_pixels // 2, num_pixels // 2 - 1
  boxes = tf.stack(
    [columns - before, rows - before, columns + after, rows + after], axis=1
  )
  return geometric_operations.cut_out(
    images, boxes, fill=fixmatch_pool.MID_GRAY
  )


VERSION = fixmatch_pool.Version(
  operation_names=(
    'Identity',
    'AutoContrast',
    'Equalize',
    'Rotate',
    'Solarize',
    'Color',
    'Contrast',
    'Brightness',
    'Sharpness',
    'ShearX',
    'TranslateX',
    'TranslateY',
    'Posterize',
    'ShearY',
  ),
  enhancement_at_zero=0.1,
  enhancement_range=1.8,
  posterization_sign=-1,
  # FixMatch's code fills with 0, of pixels in -1..1, after some of the
  # operations. Here the fill is that gray from the start, and a second
  # operation acts on it.
  fill=fixmatch_pool.MID_GRAY,
  compute_translation=_translate,
  cut_out=_cut_out_around,
)
