# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labeling, UDA and FixMatch: losses of confident predictions.

References:
  Lee. Pseudo-label: The simple and efficient semi-supervised learning method
  for deep neural networks. ICML 2013 workshop on challenges in representation
  learning. The code of FixMatch, `pseudo_label.py`.
  Xie, Dai, Hovy, Luong, Le. Unsupervised data augmentation for consistency
  training. NeurIPS 2020. The code of FixMatch, `uda.py`.
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. Its authors' code, `fixmatch.py`.
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

_ANNEALING_SCALE = 5.0
# Progress in [0, 1] -> position of the threshold in its range, in [0, 1].
_ANNEALING = {
  'none': tf.ones_like,
  'linear': tf.identity,
  'exp': lambda progress: tf.exp((progress - 1.0) * _ANNEALING_SCALE),
  'log': lambda progress: 1.0 - tf.exp(-progress * _ANNEALING_SCALE),
}


def annealed_threshold(
  progress: tf.Tensor, num_classes: int, annealing: str
) -> tf.Tensor:
  """UDA's training-signal-annealing threshold at a step.

  The threshold rises from the probability of a random guess, 1 / classes, to 1.
  `progress` is the fraction of training done, a float32 scalar in [0, 1];
  `annealing` is none, linear, exp or log.
  """
  guess = 1.0 / num_classes
  return guess + _ANNEALING[annealing](progress) * (1.0 - guess)


def annealed_cross_entropy(
  logits: tf.Tensor, labels: tf.Tensor, threshold: tf.Tensor
) -> tf.Tensor:
  """Mean cross-entropy of the examples up to a threshold; 0 without examples.

  Examples whose true class has a probability above `threshold` are left out.
  `logits` are float32 [batch, classes], `labels` int32 [batch].
  """
  probabilities = tf.nn.softmax(tf.stop_gradient(logits))
  of_class = tf.gather(probabilities, labels, batch_dims=1)
  is_counted = tf.cast(of_class <= threshold, tf.float32)
  each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
  return tf.math.divide_no_nan(
    tf.reduce_sum(each * is_counted), tf.reduce_sum(is_counted)
  )


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
class UDA(pooled_method.PooledMethod):
  """UDA: predictions under strong augmentation follow those under weak."""

  uses_strong_augmentation = True

  confidence: training_settings.Confidence = training_settings.Confidence()
  unlabeled: pooled_method.UnlabeledLoss = pooled_method.UnlabeledLoss()
  target_temperature: float = settings.setting(
    1.0,
    'Temperature that sharpens predictions for weak augmentation, the targets:'
    ' 1 in the code of FixMatch, 0.4 in the paper of UDA. The confidence'
    ' threshold applies before sharpening.',
    settings.ABOVE_0,
  )
  signal_annealing: str = settings.setting(
    'none',
    'Training signal annealing, the rise of the probability up to which labeled'
    " images are trained on: none, as in FixMatch's code, linear, exp or log.",
    settings.one_of(*_ANNEALING),
  )

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
    threshold = annealed_threshold(
      step.progress, step.num_classes, self.signal_annealing
    )
    return pooled_method.PooledStepOutput(
      annealed_cross_entropy(labeled_logits, step.labels, threshold)
      + self.unlabeled.unlabeled_loss_weight
      * losses.divergence(
        weak_logits / self.target_temperature, strong_logits, is_sure
      ),
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
    labels = pseudo_labels.from_logits(weak_logits)
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.unlabeled.unlabeled_loss_weight
      * losses.cross_entropy(
        strong_logits,
        labels.labels,
        pseudo_labels.is_confident(
          labels, self.confidence.confidence_threshold
        ),
      ),
      labeled_logits,
    )


PSEUDO_LABELING = pooled.Pooled(method=PseudoLabeling())
UDA_SYSTEM = pooled.Pooled(method=UDA(), steps=pooled.Steps(unlabeled_ratio=7))
FIXMATCH = pooled.Pooled(
  method=FixMatch(), steps=pooled.Steps(unlabeled_ratio=7)
)
