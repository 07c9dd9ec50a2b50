# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""MixMatch (Berthelot et al., NeurIPS 2019): mixup and interleaved batches.

References:
  Berthelot, Carlini, Goodfellow, Papernot, Oliver, Raffel. MixMatch: A holistic
  approach to semi-supervised learning. NeurIPS 2019. The code of FixMatch,
  `mixmatch.py`.
"""

from collections.abc import Sequence
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import losses
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds


def interleave(blocks: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Exchanges part i of block 0 with part i of block i, for each i > 0.

  The n blocks have the same shape, and each is cut into n parts. If block 0 is
  labeled, every block then has labeled rows. A second call restores the blocks.
  """
  number = len(blocks)
  # If a block cannot be cut evenly, later parts have one more row.
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
  """Logits and labels of mixed images, float32 [images, classes]."""

  labeled_logits: tf.Tensor
  labels: tf.Tensor
  unlabeled_logits: tf.Tensor
  guesses: tf.Tensor


def mix(
  step: pooled_method.PooledStep,
  labeled_images: tf.Tensor,
  unlabeled_images: Sequence[tf.Tensor],
  guesses: tf.Tensor,
  *,
  concentration: float,
) -> Mixed:
  """Applies mixup to all images, and computes the student's logits.

  Images are uint8. A forward pass interleaves labeled and unlabeled images, and
  has the size of the labeled batch. `unlabeled_images` are augmentations of the
  same images, with the soft labels `guesses`, float32 [unlabeled, classes].
  """
  images = tf.cast(
    tf.concat([labeled_images, *unlabeled_images], axis=0), tf.float32
  )
  labels = tf.concat(
    [
      tf.one_hot(step.labels, step.classifier.num_classes),
      *[guesses] * len(unlabeled_images),
    ],
    axis=0,
  )
  seed = step.seed(random_seeds.Purpose.MIXUP_COEFFICIENT)
  order = tf.random.experimental.stateless_shuffle(
    tf.range(tf.shape(images)[0]), random_draws.fold_in(seed, 0)
  )
  own = random_draws.beta(
    tf.shape(images)[0],
    random_draws.fold_in(seed, 1),
    concentration=concentration,
  )
  # The original image has a weight of at least 1/2.
  own = tf.maximum(own, 1.0 - own)

  def mix_rows(rows):
    share = tf.reshape(own, [-1] + [1] * (rows.shape.rank - 1))
    return share * rows + (1.0 - share) * tf.gather(rows, order)

  images, labels = mix_rows(images), mix_rows(labels)
  num_blocks = 1 + step.unlabeled_ratio * len(unlabeled_images)
  blocks = interleave(tf.split(images, num_blocks))
  passes = [logits for block in blocks for logits in step.logits(block)]
  first, *others = interleave(passes)
  num_labeled = tf.shape(step.labels)[0]
  return Mixed(
    first, labels[:num_labeled], tf.concat(others, axis=0), labels[num_labeled:]
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mixing(settings.Settings):
  """Settings of MixMatch's label guesses and mixup."""

  guess_temperature: float = settings.setting(
    0.5,
    'Temperature by which label guesses are sharpened; 1 does not sharpen.',
    settings.ABOVE_0,
  )
  mixup_concentration: float = settings.setting(
    0.75, 'Both parameters of the Beta distribution of mixup.', settings.ABOVE_0
  )
  ramp_up_steps: int = settings.setting(
    2**14,
    'Steps in which the weights of unlabeled losses rise from 0; with 0 the'
    ' first step has full weights.',
    settings.AT_LEAST_0,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MixMatch(pooled_method.PooledMethod):
  """MixMatch: mixup, and labels guessed from two weak augmentations."""

  mixing: Mixing = Mixing(mixup_concentration=0.5)
  unlabeled: pooled_method.UnlabeledLoss = pooled_method.UnlabeledLoss(
    unlabeled_loss_weight=100.0
  )

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    del memory
    views = [step.weak_images(key) for key in range(2)]
    # Each augmentation is a separate batch for batch normalization.
    guesses = [tf.nn.softmax(step.logits(view)[0]) for view in views]
    mixed = mix(
      step,
      step.labeled_images(),
      views,
      sharpen(
        tf.stop_gradient(sum(guesses) / len(guesses)),
        self.mixing.guess_temperature,
      ),
      concentration=self.mixing.mixup_concentration,
    )
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(mixed.labeled_logits, mixed.labels)
      + self.unlabeled.unlabeled_loss_weight
      * pooled_method.ramp_up(step.num, self.mixing.ramp_up_steps)
      * pooled_method.consistency(
        mixed.guesses, tf.nn.softmax(mixed.unlabeled_logits)
      ),
      mixed.labeled_logits,
    )


MIXMATCH = pooled.Pooled(method=MixMatch())


def sharpen(probabilities: tf.Tensor, temperature: float) -> tf.Tensor:
  """Probabilities to the power of 1 / temperature, normalized (MixMatch)."""
  # The softmax of logarithms, because powers of small numbers may be 0.
  return tf.nn.softmax(tf.math.log(probabilities) / temperature)
