# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labeling, UDA and FixMatch: training on confident predictions.

References:
  Lee. Pseudo-label: The simple and efficient semi-supervised learning method
  for deep neural networks. ICML 2013 workshop on challenges in representation
  learning. The code of FixMatch, `pseudo_label.py`.
  Xie, Dai, Hovy, Luong, Le. Unsupervised data augmentation for consistency
  training. NeurIPS 2020. The code of FixMatch, `uda.py`.
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. The code of FixMatch, `fixmatch.py`.
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
class PseudoLabeling(pooled_method.PooledMethod):
  """Pseudo-labeling: confident predictions become labels."""

  confidence: training_settings.Confidence = training_settings.Confidence()
  ramped: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=1.0
  )
  reproduce_mask: bool = settings.setting(
    False,
    'Whether to reproduce the code of FixMatch: training uses all images,'
    ' confident or not, and multiplies the loss by the fraction of confident'
    ' images.',
  )

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    del memory
    (labeled_logits,) = step.logits(step.labeled_images())
    (logits,) = step.logits(step.weak_images())
    labels = pseudo_labels.from_logits(logits)
    is_sure = labels.confidences >= self.confidence.confidence_threshold
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
  """FixMatch: weak augmentation for pseudo-labels, strong for training."""

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
    confidences = pseudo_labels.from_logits(weak_logits).confidences
    is_sure = confidences >= self.confidence.confidence_threshold
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.unlabeled.unlabeled_loss_weight
      * self.unlabeled_loss(weak_logits, strong_logits, is_sure),
      labeled_logits,
    )

  def unlabeled_loss(
    self, weak_logits: tf.Tensor, strong_logits: tf.Tensor, is_sure: tf.Tensor
  ) -> tf.Tensor:
    """The summed loss of confident images, divided by the batch size."""
    labels = pseudo_labels.from_logits(weak_logits).labels
    return losses.cross_entropy(strong_logits, labels, is_sure)


@dataclasses.dataclass(frozen=True, kw_only=True)
class UDA(FixMatch):
  """UDA: soft labels from weak augmentation supervise strong augmentation."""

  def unlabeled_loss(
    self, weak_logits: tf.Tensor, strong_logits: tf.Tensor, is_sure: tf.Tensor
  ) -> tf.Tensor:
    return losses.divergence(weak_logits, strong_logits, is_sure)


PSEUDO_LABELING = pooled.Pooled(method=PseudoLabeling())
UDA_SYSTEM = pooled.Pooled(method=UDA(), steps=pooled.Steps(unlabeled_ratio=7))
FIXMATCH = pooled.Pooled(
  method=FixMatch(), steps=pooled.Steps(unlabeled_ratio=7)
)
