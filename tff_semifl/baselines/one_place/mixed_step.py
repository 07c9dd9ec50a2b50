# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The mixup of MixMatch and ReMixMatch, and passes of mixed batches."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.augment import mixup
from tff_semifl.baselines.one_place import pooled_step
from tff_semifl.randomness import random_seeds


def interleave(blocks: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Exchanges part i of block 0 with part i of block i, for each i from 1.

  Each of n blocks, of the same shape, is cut into n parts. Applied twice it is
  the identity.
  """
  number = len(blocks)
  # If rows cannot be divided evenly, later parts have one more.
  num_rows = tf.shape(blocks[0])[0]
  small = num_rows // number
  num_large = num_rows - small * number
  sizes = [
    small + tf.cast(part >= number - num_large, tf.int32)
    for part in range(number)
  ]
  parts = [tf.split(block, tf.stack(sizes)) for block in blocks]
  for i in range(1, number):
    parts[0][i], parts[i][i] = parts[i][i], parts[0][i]
  return [
    tf.ensure_shape(tf.concat(part, axis=0), block.shape)
    for part, block in zip(parts, blocks, strict=True)
  ]


class Mixed(NamedTuple):
  """Logits and labels of mixed images.

  Attributes:
    labeled_logits: float32 [labeled, classes], of the mixed labeled images.
    labels: float32 [labeled, classes], mixed alike.
    unlabeled_logits: float32 [unlabeled views, classes].
    guesses: float32 [unlabeled views, classes], label guesses, mixed alike.
  """

  labeled_logits: tf.Tensor
  labels: tf.Tensor
  unlabeled_logits: tf.Tensor
  guesses: tf.Tensor


def mix(
  step: pooled_step.PooledStep,
  labeled_images: tf.Tensor,
  unlabeled_images: Sequence[tf.Tensor],
  guesses: tf.Tensor,
  *,
  concentration: float,
) -> Mixed:
  """Mixes all images with each other, and passes them through the student.

  Each forward pass has as many images as are labeled, of all kinds equally.
  Labeled views are uint8 [labeled, height, width, channels], unlabeled ones
  uint8 [unlabeled, height, width, channels] each. Guesses are float32
  [unlabeled, classes], the same for all views.
  """
  images, labels = mixup.mix_with_each_other(
    tf.cast(tf.concat([labeled_images, *unlabeled_images], axis=0), tf.float32),
    tf.concat(
      [
        tf.one_hot(step.labels, step.num_classes),
        *[guesses] * len(unlabeled_images),
      ],
      axis=0,
    ),
    step.seed(random_seeds.Purpose.MIXUP_COEFFICIENT),
    concentration=concentration,
  )
  num_blocks = 1 + step.unlabeled_ratio * len(unlabeled_images)
  blocks = interleave(tf.split(images, num_blocks))
  passes = [logits for block in blocks for logits in step.logits(block)]
  first, *others = interleave(passes)
  num_labeled = tf.shape(step.labels)[0]
  return Mixed(
    first, labels[:num_labeled], tf.concat(others, axis=0), labels[num_labeled:]
  )
