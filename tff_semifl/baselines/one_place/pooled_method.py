# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The base class of semi-supervised methods that train in one place."""

import abc
from collections.abc import Callable, Iterator
import dataclasses
import itertools
from typing import Any, ClassVar, NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.models import features as features_lib
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

_Purpose = random_seeds.Purpose


class PooledStepOutput(NamedTuple):
  """What a method's loss function returns for a step."""

  loss: tf.Tensor  # A float32 scalar.
  # float32 [labeled, classes], with which the student's accuracy is computed.
  labeled_logits: tf.Tensor
  # The method's memory after the step; its structure must not change.
  memory: Any = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class PooledStep:
  """The images, augmentations and models of a step."""

  classifier: functional.ImageClassifier
  labeled: tf.Tensor  # Images, uint8 [labeled, ...].
  labels: tf.Tensor  # int32 [labeled]
  unlabeled: tf.Tensor  # Images, uint8 [unlabeled, ...].
  student: functional.ModelWeights  # The weights in training.
  teacher: functional.ModelWeights  # The moving average of the student's.
  head: tuple[tf.Tensor, ...]  # The weights of the method's head.
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  class_shares: tf.Tensor  # float32 [classes], among all known labels.
  unlabeled_ratio: int  # Unlabeled images for each labeled image.
  run_seed: tf.Tensor
  num: tf.Tensor  # The index of the step in the whole run, int32.
  total_steps: int
  passes: Iterator[int] = dataclasses.field(default_factory=itertools.count)

  @property
  def progress(self) -> tf.Tensor:
    """The fraction of the run before this step, a float32 scalar."""
    return tf.cast(self.num, tf.float32) / self.total_steps

  def seed(self, purpose: random_seeds.Purpose, *keys: int) -> tf.Tensor:
    """The stateless seed for a purpose in this step, int32 [2]."""
    return random_seeds.stateless_seed(self.run_seed, purpose, self.num, *keys)

  def labeled_images(self) -> tf.Tensor:
    """The labeled images, weakly augmented, uint8."""
    return self.weak_augmentation(
      self.labeled, self.seed(_Purpose.SERVER_AUGMENTATION)
    )

  def weak_images(self, key: int = 0) -> tf.Tensor:
    """Weakly augmented unlabeled images, uint8; draws differ between keys."""
    return self.weak_augmentation(
      self.unlabeled, self.seed(_Purpose.WEAK_VIEW, key)
    )

  def strong_images(self, key: int = 0) -> tf.Tensor:
    """Strongly augmented unlabeled images, uint8; draws differ between keys."""
    return self.strong_augmentation(
      self.unlabeled, self.seed(_Purpose.STRONG_VIEW, key)
    )

  def logits(self, *parts: tf.Tensor) -> list[tf.Tensor]:
    """The student's logits for each part, float32 [images, classes].

    The parts, uint8 or float32 images in 0..255, form one training-mode batch.
    """
    return self._pass(self.classifier.train_logits, self.student, parts)

  def teacher_logits(self, *parts: tf.Tensor) -> list[tf.Tensor]:
    """The teacher's logits, without gradient; arguments are as in `logits`."""
    found = self._pass(self.classifier.train_logits, self.teacher, parts)
    return [tf.stop_gradient(logits) for logits in found]

  def features(self, *parts: tf.Tensor) -> list[tf.Tensor]:
    """The inputs of the student's dense last layer; arguments: see `logits`."""
    features = features_lib.require_features(self.classifier.features)
    return self._pass(features.train, self.student, parts)

  def _pass(
    self,
    function: Callable[..., tf.Tensor],
    weights: functional.ModelWeights,
    parts: tuple[tf.Tensor, ...],
  ) -> list[tf.Tensor]:
    images = tf.concat([tf.cast(part, tf.float32) for part in parts], axis=0)
    outputs = function(
      weights, images, self.seed(_Purpose.DROPOUT_MASK, next(self.passes))
    )
    return tf.split(outputs, [tf.shape(part)[0] for part in parts])


class PooledMethod(settings.Settings, abc.ABC):
  """Base class of methods: a loss on labeled and unlabeled images."""

  # Whether the loss uses `strong_images`.
  uses_strong_augmentation: ClassVar[bool] = False

  @abc.abstractmethod
  def loss(self, step: PooledStep, memory: Any) -> PooledStepOutput:
    """The loss of a step; `memory` is from the previous step."""

  def create_memory(self, classifier: functional.ImageClassifier) -> Any:
    """The method's memory before the first step, a structure of arrays."""
    del classifier
    return ()

  def create_head(
    self, classifier: functional.ImageClassifier, seed: int
  ) -> tuple[np.ndarray, ...]:
    """Initial weights of a head, trained with the model; by default none."""
    del classifier, seed
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnlabeledLoss(settings.Settings):
  """A constant weight for the loss of unlabeled images."""

  unlabeled_loss_weight: float = settings.setting(
    1.0, 'Weight of the loss of unlabeled images.', settings.AT_LEAST_0
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RampedLoss(UnlabeledLoss):
  """A weight, rising during training, for the loss of unlabeled images."""

  ramp_up_share: float = settings.setting(
    0.4,
    'Fraction of all steps in which the weight of unlabeled images rises from'
    ' 0; with 0 the first step has full weight.',
    settings.FRACTION,
  )

  def factor(self, progress: tf.Tensor) -> tf.Tensor:
    """The weight, a scalar, after the fraction `progress` of all steps."""
    return self.unlabeled_loss_weight * ramp_up(progress, self.ramp_up_share)


def ramp_up(position: tf.Tensor | float, length: float) -> tf.Tensor:
  """A float32 scalar that rises linearly from 0 at position 0 to 1 at `length`.

  With a length of 0 the result is always 1.
  """
  if length <= 0:
    return tf.ones([])
  return tf.minimum(tf.cast(position, tf.float32) / length, 1.0)


def consistency(targets: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
  """Mean squared difference of probabilities, over examples and classes.

  This is the consistency loss of the Pi-Model, Mean Teacher and MixMatch.
  Arguments are float [batch, classes]; targets usually have no gradient.
  """
  return tf.reduce_mean(tf.math.squared_difference(targets, probabilities))
