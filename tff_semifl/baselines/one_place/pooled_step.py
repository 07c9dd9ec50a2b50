# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A step on labeled and unlabeled images, as the loss of a method sees it."""

from collections.abc import Callable
import itertools
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.models import features as features_lib
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

_Purpose = random_seeds.Purpose


class Batch(NamedTuple):
  """The images of a step.

  Attributes:
    labeled: uint8 [labeled, height, width, channels].
    labels: int32 [labeled].
    unlabeled: uint8 [unlabeled, height, width, channels].
  """

  labeled: tf.Tensor
  labels: tf.Tensor
  unlabeled: tf.Tensor


class PooledStepOutput(NamedTuple):
  """The result of a loss function for a step.

  Attributes:
    loss: Scalar, to be minimized.
    labeled_logits: float32 [labeled, classes], the student's, to count what is
      correct.
    memory: The method's memory after the step, a structure like that before it.
  """

  loss: tf.Tensor
  labeled_logits: tf.Tensor
  memory: Any = ()


class PooledStep:
  """A step as the loss of a method sees it: images, views and models.

  Attributes:
    labels: int32 [labeled], of the labeled images.
    class_shares: float32 [classes], the share of each class among all labels.
    num: int32 scalar, the number of the step in the whole run, from 0.
    progress: float32 scalar, the share of all steps that were taken before.
    unlabeled_ratio: Unlabeled images for each labeled one.
    head: The weights of the method's head, tensors.
  """

  def __init__(
    self,
    classifier: functional.ImageClassifier,
    batch: Batch,
    *,
    student: functional.ModelWeights,
    teacher: functional.ModelWeights,
    head: tuple[tf.Tensor, ...],
    weak_augmentation: augmentation.Augmentation,
    strong_augmentation: augmentation.Augmentation,
    class_shares: tf.Tensor,
    unlabeled_ratio: int,
    seed: tf.Tensor,
    num: tf.Tensor,
    total_steps: int,
  ):
    """Initializes the step.

    Args:
      classifier: The model.
      batch: The images.
      student: The weights that are trained.
      teacher: The averaged weights.
      head: See the class.
      weak_augmentation: Makes weak views.
      strong_augmentation: Makes strong views.
      class_shares: See the class.
      unlabeled_ratio: See the class.
      seed: int32 scalar, the run's seed.
      num: See the class.
      total_steps: Steps of the whole run.
    """
    self._classifier = classifier
    self._batch = batch
    self._student = student
    self._teacher = teacher
    self._weak_augmentation = weak_augmentation
    self._strong_augmentation = strong_augmentation
    self._seed = seed
    self._passes = itertools.count()
    self.labels = batch.labels
    self.class_shares = class_shares
    self.num = num
    self.progress = tf.cast(num, tf.float32) / total_steps
    self.unlabeled_ratio = unlabeled_ratio
    self.head = head

  @property
  def num_classes(self) -> int:
    """Number of classes."""
    return self._classifier.num_classes

  def seed(self, purpose: random_seeds.Purpose, *keys: int) -> tf.Tensor:
    """Returns the stateless seed for a purpose in the step, int32 [2]."""
    return random_seeds.stateless_seed(self._seed, purpose, self.num, *keys)

  def labeled_views(self) -> tf.Tensor:
    """Returns weak views of the labeled images, uint8."""
    return self._weak_augmentation(
      self._batch.labeled, self.seed(_Purpose.SERVER_AUGMENTATION)
    )

  def weak_views(self, key: int = 0) -> tf.Tensor:
    """Returns weak views of the unlabeled images, uint8; others by each key."""
    return self._weak_augmentation(
      self._batch.unlabeled, self.seed(_Purpose.WEAK_VIEW, key)
    )

  def strong_views(self, key: int = 0) -> tf.Tensor:
    """Returns strong views of the unlabeled images, likewise."""
    return self._strong_augmentation(
      self._batch.unlabeled, self.seed(_Purpose.STRONG_VIEW, key)
    )

  def logits(self, *views: tf.Tensor) -> list[tf.Tensor]:
    """Returns the student's logits of views that are one batch to it.

    Args:
      *views: uint8 or float32 [batch, height, width, channels] in 0..255.

    Returns:
      For each of them float32 [batch, classes], in training mode.
    """
    return self._pass(self._classifier.train_logits, self._student, views)

  def teacher_logits(self, *views: tf.Tensor) -> list[tf.Tensor]:
    """Returns the averaged model's logits, likewise, without a gradient."""
    found = self._pass(self._classifier.train_logits, self._teacher, views)
    return [tf.stop_gradient(logits) for logits in found]

  def features(self, *views: tf.Tensor) -> list[tf.Tensor]:
    """Returns what the student's last layer is given, likewise.

    Raises:
      ValueError: If the classifier has no features.
    """
    features = features_lib.require_features(self._classifier.features)
    return self._pass(features.train, self._student, views)

  def _pass(
    self,
    function: Callable[..., tf.Tensor],
    weights: functional.ModelWeights,
    views: tuple[tf.Tensor, ...],
  ) -> list[tf.Tensor]:
    images = tf.concat([tf.cast(part, tf.float32) for part in views], axis=0)
    outputs = function(
      weights, images, self.seed(_Purpose.DROPOUT_MASK, next(self._passes))
    )
    return tf.split(outputs, [tf.shape(part)[0] for part in views])


# (step, memory of the method) -> the loss, and the memory after the step.
LossFn = Callable[[PooledStep, Any], PooledStepOutput]
