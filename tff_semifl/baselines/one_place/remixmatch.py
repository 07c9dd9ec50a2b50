# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""ReMixMatch (Berthelot et al., ICLR 2020).

References:
  Berthelot, Carlini, Cubuk, Kurakin, Sohn, Zhang, Raffel. ReMixMatch:
  Semi-supervised learning with distribution alignment and augmentation
  anchoring. ICLR 2020. The code of FixMatch, `remixmatch_no_cta.py` and
  `cta/cta_remixmatch.py`.
"""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import client_prior
from tff_semifl.baselines.one_place import mixmatch
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import losses
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

NUM_ROTATIONS = 4
# The number of batches whose mean prediction is aligned with the labels.
ALIGNED_BATCHES = 128
# The weights of three losses: of mixed unlabeled images, of strongly augmented
# images without mixup, and of rotations.
_MIXED_WEIGHT, _STRONG_WEIGHT, _ROTATION_WEIGHT = 1.5, 0.5, 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReMixMatch(pooled_method.PooledMethod):
  """ReMixMatch: distribution alignment, augmentation anchoring, rotations."""

  uses_strong_augmentation = True

  mixing: mixmatch.Mixing = mixmatch.Mixing()

  def create_memory(self, classifier: functional.ImageClassifier) -> np.ndarray:
    """Mean predictions of recent batches, initially uniform: [batch, class]."""
    num_classes = classifier.num_classes
    return np.full(
      [ALIGNED_BATCHES, num_classes], 1.0 / num_classes, np.float32
    )

  def create_head(
    self, classifier: functional.ImageClassifier, seed: int
  ) -> tuple[np.ndarray, ...]:
    """The kernel and bias of the layer that predicts rotations."""
    features = classifier.features
    if features is None:
      raise ValueError(
        'ReMixMatch needs a model with a dense last layer, whose inputs predict'
        ' rotations'
      )
    kind = sources.kind_of(classifier.image_shape)
    if kind is not sources.IMAGES:
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
    # Separate forward passes, each with its own batch normalization.
    (weak_logits,) = step.logits(weak_images)
    (strong_logits,) = step.logits(strong_images)
    weak_logits = tf.stop_gradient(weak_logits)
    newest = tf.reduce_mean(tf.nn.softmax(weak_logits), axis=0, keepdims=True)
    aligned = client_prior.align(
      weak_logits, tf.reduce_mean(memory, axis=0), step.class_shares
    )
    guesses = tf.nn.softmax(aligned / self.mixing.guess_temperature)
    mixed = mixmatch.mix(
      step,
      step.labeled_images(),
      [weak_images, strong_images],
      guesses,
      concentration=self.mixing.mixup_concentration,
    )
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(mixed.labeled_logits, mixed.labels)
      + pooled_method.ramp_up(step.num, self.mixing.ramp_up_steps)
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
  """The cross-entropy of the rotation classifier."""
  rotated, num_turns = rotate(views)
  (features,) = step.features(rotated)
  kernel, bias = step.head
  return losses.cross_entropy(features @ kernel + bias, num_turns)


def rotate(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Rotates quarters of the batch by 0, 90, 180 and 270 degrees.

  Images are square, [batch, size, size, channels]. Returns the rotated images,
  reordered, and the number of counterclockwise quarter turns of each image,
  int32 [batch] (Gidaris et al., ICLR 2018).
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


REMIXMATCH = pooled.Pooled(method=ReMixMatch())
