# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The RandAugment of FixMatch's best known PyTorch implementation.

Zhang et al. use it as "RandAugmentMC". It differs from `fixmatch_policy`:
enhancements only weaken, posterization keeps four bits more, translations are
fractions of the image, the fill is black, and the box lies beside its point as
in SemiFL's code.
"""

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_pool
from tff_semifl.augment import geometric_operations

# At the full level.
_TRANSLATION_SHARE = 0.3


def build_fixmatch_pytorch_rand_augment() -> augmentation.Augmentation:
  """This RandAugment, for images with 1 or 3 channels.

  References:
    `dataset/randaugment.py` of https://github.com/kekmodel/FixMatch-pytorch
    and of
    https://github.com/jhcknzzm/SSFL-Benchmarking-Semi-supervised-Federated-Learning
  """
  return fixmatch_pool.build_rand_augment(VERSION)


def _translate(levels: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
  """A fraction of the image, in whole pixels."""
  shares = levels * _TRANSLATION_SHARE / fixmatch_pool.FULL_LEVEL
  # Truncated, as by Python's `int`.
  return tf.cast(shares * tf.cast(size, tf.float64), tf.int32)


def _cut_out_beside(
  images: tf.Tensor, seed: tf.Tensor, num_pixels: tf.Tensor
) -> tf.Tensor:
  """Covers a box beside a random point."""
  points = geometric_operations.draw_points(tf.shape(images)[0], seed)
  # For EMNIST the code of Zhang et al. fills with half of the image's brightest
  # level, which is the same for images with a white pixel.
  return geometric_operations.cut_out_beside(
    images, points, num_pixels=num_pixels, fill=fixmatch_pool.MID_GRAY
  )


VERSION = fixmatch_pool.Version(
  operation_names=(
    'AutoContrast',
    'Brightness',
    'Color',
    'Contrast',
    'Equalize',
    'Identity',
    'Posterize',
    'Rotate',
    'Sharpness',
    'ShearX',
    'ShearY',
    'Solarize',
    'TranslateX',
    'TranslateY',
  ),
  enhancement_at_zero=0.05,
  enhancement_range=0.9,
  posterization_sign=1,
  fill=0,
  compute_translation=_translate,
  cut_out=_cut_out_beside,
)
