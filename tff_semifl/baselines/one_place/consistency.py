# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Pi-Model, Mean Teacher, pseudo-labeling, UDA and FixMatch, in one place.

References:
  Laine, Aila. Temporal ensembling for semi-supervised learning. ICLR 2017.
  Tarvainen, Valpola. Mean teachers are better role models: Weight-averaged
  consistency targets improve semi-supervised deep learning results. NeurIPS
  2017.
  Lee. Pseudo-label: The simple and efficient semi-supervised learning method
  for deep neural networks. ICML 2013 workshop on challenges in representation
  learning.
  Xie, Dai, Hovy, Luong, Le. Unsupervised data augmentation for consistency
  training. NeurIPS 2020.
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. Its authors' code has all of these methods.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import training_settings
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import losses
from tff_semifl.core import pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class PiModel(pooled_method.PooledMethod):
  """The Pi-Model: equal predictions for two weak augmentations."""

  consistency: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=10.0
  )

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    del memory
    # Three passes, each normalized by its own batch.
    (labeled_logits,) = step.logits(step.labeled_images())
    (targets,) = self.target_logits(step, step.weak_images(0))
    (logits,) = step.logits(step.weak_images(1))
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.consistency.factor(step.progress)
      * losses.consistency(
        tf.stop_gradient(tf.nn.softmax(targets)), tf.nn.softmax(logits)
      ),
      labeled_logits,
    )

  def target_logits(
    self, step: pooled_method.PooledStep, images: tf.Tensor
  ) -> list[tf.Tensor]:
    """The logits of the targets, float32 [batch, classes]."""
    return step.logits(images)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanTeacher(PiModel):
  """Mean Teacher: an average of the student's weights is the teacher."""

  consistency: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=50.0
  )

  def target_logits(
    self, step: pooled_method.PooledStep, images: tf.Tensor
  ) -> list[tf.Tensor]:
    return step.teacher_logits(images)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PseudoLabeling(pooled_method.PooledMethod):
  """Pseudo-labeling: confident predictions are labels."""

  confidence: training_settings.Confidence = training_settings.Confidence()
  ramped: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=1.0
  )
  reproduce_mask: bool = settings.setting(
    False,
    'Whether to reproduce the code of FixMatch: all images are trained on,'
    ' confident or not, and the fraction of confident ones is a factor of the'
    ' loss.',
  )

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    del memory
    (labeled_logits,) = step.logits(step.labeled_images())
    (logits,) = step.logits(step.weak_images())
    labels = pseudo_labels.from_logits(logits)
    is_sure = pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )
    if self.reproduce_mask:
      share = tf.reduce_mean(tf.cast(is_sure, tf.float32))
      loss = share * losses.cross_entropy(logits, labels.labels)
    else:
      loss = losses.cross_entropy(logits, labels.labels, is_sure)
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.ramped.factor(step.progress) * loss,
      labeled_logits,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixMatch(pooled_method.PooledMethod):
  """FixMatch: pseudo-labels from weak, losses under strong augmentation."""

  uses_strong_augmentation = True

  confidence: training_settings.Confidence = training_settings.Confidence()
  unlabeled: pooled_method.UnlabeledLoss = pooled_method.UnlabeledLoss()

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    del memory
    labeled_logits, weak_logits, strong_logits = step.logits(
      step.labeled_images(), step.weak_images(), step.strong_images()
    )
    is_sure = pseudo_labels.is_confident(
      pseudo_labels.from_logits(weak_logits),
      self.confidence.confidence_threshold,
    )
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.unlabeled.unlabeled_loss_weight
      * self.unlabeled_loss(weak_logits, strong_logits, is_sure),
      labeled_logits,
    )

  def unlabeled_loss(
    self, weak_logits: tf.Tensor, strong_logits: tf.Tensor, is_sure: tf.Tensor
  ) -> tf.Tensor:
    """The mean loss of unlabeled images, of which those that are sure count."""
    labels = pseudo_labels.from_logits(weak_logits).labels
    return losses.cross_entropy(strong_logits, labels, is_sure)


@dataclasses.dataclass(frozen=True, kw_only=True)
class UDA(FixMatch):
  """UDA: predictions under strong augmentation follow those under weak."""

  def unlabeled_loss(
    self, weak_logits: tf.Tensor, strong_logits: tf.Tensor, is_sure: tf.Tensor
  ) -> tf.Tensor:
    return losses.divergence(weak_logits, strong_logits, is_sure)


PI_MODEL = pooled.Pooled(method=PiModel())
MEAN_TEACHER = pooled.Pooled(method=MeanTeacher())
PSEUDO_LABELING = pooled.Pooled(method=PseudoLabeling())
UDA_SYSTEM = pooled.Pooled(method=UDA(), steps=pooled.Steps(unlabeled_ratio=7))
FIXMATCH = pooled.Pooled(
  method=FixMatch(), steps=pooled.Steps(unlabeled_ratio=7)
)
