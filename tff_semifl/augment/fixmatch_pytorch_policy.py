# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The RandAugment of FixMatch's best known PyTorch version (C.3).

The benchmark of semi-supervised federated learning (Zhang et al.) uses it, as
"RandAugmentMC". The pool is that of `fixmatch_policy` (D24); but enhancements
only take away, posterization keeps four bits more, translations are shares of
the image, what comes in from outside is black, and the box lies beside its
point as in SemiFL's code. The paper speaks of twelve operations (D29).
"""

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_pool
from tff_semifl.augment import geometric_operations

# At the full level.
_TRANSLATION_SHARE = 0.3


def build_fixmatch_pytorch_rand_augment() -> augmentation.Augmentation:
  """Builds this RandAugment as a function of images and a seed.

  Returns:
    A function of uint8 images [batch, height, width, 1 or 3] and a stateless
    seed, int32 [2], that returns images of the same shape and dtype.

  References:
    `dataset/randaugment.py` of https://github.com/kekmodel/FixMatch-pytorch
    and of
    https://github.com/jhcknzzm/SSFL-Benchmarking-Semi-supervised-Federated-Learning
  """
  return fixmatch_pool.build_rand_augment(VERSION)


def _translate(levels: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
  """Returns a share of the image, in whole pixels."""
  shares = levels * _TRANSLATION_SHARE / fixmatch_pool.FULL_LEVEL
  # Cut off towards zero, as by Python's `int`.
  return tf.cast(shares * tf.cast(size, tf.float64), tf.int32)


def _cut_out_beside(
  images: tf.Tensor, seed: tf.Tensor, num_pixels: tf.Tensor
) -> tf.Tensor:
  """Covers the rows and columns beside a point."""
  points = geometric_operations.draw_points(tf.shape(images)[0], seed)
  # For EMNIST the code of Zhang et al. has half of the image's brightest level:
  # that is the same wherever there is a white pixel.
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
