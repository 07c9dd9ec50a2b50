# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""MixMatch and ReMixMatch, with batches of mixed images.

References:
  Berthelot, Carlini, Goodfellow, Papernot, Oliver, Raffel. MixMatch: A holistic
  approach to semi-supervised learning. NeurIPS 2019. The code of FixMatch,
  `mixmatch.py`.
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020. The code of FixMatch, `remixmatch_no_cta.py` and
  `cta/cta_remixmatch.py`.
"""

from collections.abc import Sequence
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import client_parts
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import losses
from tff_semifl.core import pseudo_labels
from tff_semifl.core import training_loop
from tff_semifl.data import example_kinds
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

NUM_ROTATIONS = 4
# The last batches whose mean prediction ReMixMatch aligns with the labels.
ALIGNED_BATCHES = 128
# The weights of ReMixMatch's losses: of mixed unlabeled images, of strongly
# augmented images that are not mixed, and of their rotations.
_MIXED_WEIGHT, _STRONG_WEIGHT, _ROTATION_WEIGHT = 1.5, 0.5, 0.5


def interleave(blocks: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Exchanges part i of block 0 with part i of block i, for each i from 1.

  Each of the n blocks, of the same shape, is cut into n parts.
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
  """Logits and mixed labels of mixed images, float32 [images, classes]."""

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
  """Mixes all images with each other, and computes the student's logits.

  Each forward pass has as many images as there are labeled ones, interleaved
  from all kinds. Images are uint8; `unlabeled_images` are augmentations of the
  same images with the same `guesses`, float32 [unlabeled, classes].
  """
  images = tf.cast(
    tf.concat([labeled_images, *unlabeled_images], axis=0), tf.float32
  )
  labels = tf.concat(
    [
      tf.one_hot(step.labels, step.num_classes),
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
  # A mixed image is at least half the original image.
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
  """MixMatch's label guesses and mixed batches."""

  guess_temperature: float = settings.setting(
    0.5,
    'Temperature that label guesses are sharpened by; 1 leaves them as they'
    ' are.',
    settings.ABOVE_0,
  )
  mixup_concentration: float = settings.setting(
    0.75,
    'Both parameters of the Beta distribution of mixup.',
    settings.ABOVE_0,
  )
  ramp_up_steps: int = settings.setting(
    2**14,
    'Steps in which the weights of the losses of unlabeled images rise from 0;'
    ' 0 for full weights from the first step on.',
    settings.AT_LEAST_0,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MixMatch(pooled_method.PooledMethod):
  """MixMatch: sharpened label guesses from two weak augmentations; mixup."""

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
      pseudo_labels.sharpen(
        tf.stop_gradient(sum(guesses) / len(guesses)),
        self.mixing.guess_temperature,
      ),
      concentration=self.mixing.mixup_concentration,
    )
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(mixed.labeled_logits, mixed.labels)
      + self.unlabeled.unlabeled_loss_weight
      * training_loop.ramp_up(step.num, self.mixing.ramp_up_steps)
      * losses.consistency(
        mixed.guesses, tf.nn.softmax(mixed.unlabeled_logits)
      ),
      mixed.labeled_logits,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReMixMatch(pooled_method.PooledMethod):
  """ReMixMatch: distribution alignment, augmentation anchoring, rotations."""

  uses_strong_augmentation = True

  mixing: Mixing = Mixing()

  def create_memory(self, classifier: functional.ImageClassifier) -> np.ndarray:
    """The initial mean predictions of the last batches."""
    num_classes = classifier.num_classes
    return np.full(
      [ALIGNED_BATCHES, num_classes], 1.0 / num_classes, np.float32
    )

  def create_head(
    self, classifier: functional.ImageClassifier, seed: int
  ) -> tuple[np.ndarray, ...]:
    """Kernel and bias of the layer that predicts rotations."""
    features = classifier.features
    if features is None:
      raise ValueError(
        'ReMixMatch needs a model with a dense last layer, whose inputs predict'
        ' rotations'
      )
    kind = example_kinds.kind_of(classifier.image_shape)
    if kind is not example_kinds.IMAGES:
      raise settings.SettingError(
        'task', kind.name, 'ReMixMatch rotates images; choose another system'
      )
    height, width, _ = classifier.image_shape
    if height != width:
      raise ValueError(
        f'ReMixMatch needs square images, found {height} by {width} pixels'
      )
    draws = random_seeds.numpy_generator(
      seed, random_seeds.Purpose.INITIAL_WEIGHTS, NUM_ROTATIONS
    )
    kernel = tf.keras.initializers.GlorotNormal(int(draws.integers(2**30)))
    return (
      kernel([features.size, NUM_ROTATIONS]).numpy(),
      np.zeros([NUM_ROTATIONS], np.float32),
    )

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    weak_images, strong_images = step.weak_images(), step.strong_images()
    # Separate passes, each normalized by its own batch.
    (weak_logits,) = step.logits(weak_images)
    (strong_logits,) = step.logits(strong_images)
    weak_logits = tf.stop_gradient(weak_logits)
    newest = tf.reduce_mean(tf.nn.softmax(weak_logits), axis=0, keepdims=True)
    aligned = client_parts.align(
      weak_logits, tf.reduce_mean(memory, axis=0), step.class_shares
    )
    guesses = tf.nn.softmax(aligned / self.mixing.guess_temperature)
    mixed = mix(
      step,
      step.labeled_images(),
      [weak_images, strong_images],
      guesses,
      concentration=self.mixing.mixup_concentration,
    )
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(mixed.labeled_logits, mixed.labels)
      + training_loop.ramp_up(step.num, self.mixing.ramp_up_steps)
      * (
        _MIXED_WEIGHT
        * losses.cross_entropy(mixed.unlabeled_logits, mixed.guesses)
        + _STRONG_WEIGHT * losses.cross_entropy(strong_logits, guesses)
      )
      + _ROTATION_WEIGHT * _rotation_loss(step, strong_images),
      mixed.labeled_logits,
      tf.concat([memory[1:], newest], axis=0),
    )


def _rotation_loss(
  step: pooled_method.PooledStep, views: tf.Tensor
) -> tf.Tensor:
  """The cross-entropy of predicting the images' rotations."""
  rotated, num_turns = rotate(views)
  (features,) = step.features(rotated)
  kernel, bias = step.head
  return losses.cross_entropy(features @ kernel + bias, num_turns)


def rotate(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Rotates quarters of the batch by 0, 90, 180 and 270 degrees.

  Images are square, [batch, size, size, channels]. Returns the rotated images
  in another order, and the number of counterclockwise quarter turns of each
  image, int32 [batch] (Gidaris et al., ICLR 2018).
  """
  parts = [images[turns::NUM_ROTATIONS] for turns in range(NUM_ROTATIONS)]
  turned = [tf.image.rot90(part, turns) for turns, part in enumerate(parts)]
  num_turns = [
    tf.fill([tf.shape(part)[0]], turns) for turns, part in enumerate(parts)
  ]
  return (
    tf.ensure_shape(tf.concat(turned, axis=0), images.shape),
    tf.concat(num_turns, axis=0),
  )


MIXMATCH = pooled.Pooled(method=MixMatch())
REMIXMATCH = pooled.Pooled(method=ReMixMatch())
