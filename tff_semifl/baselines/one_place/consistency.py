# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Pi-Model and Mean Teacher: consistency under two weak augmentations.

References:
  Laine, Aila. Temporal ensembling for semi-supervised learning. ICLR 2017. The
  code of FixMatch, `pi_model.py`.
  Tarvainen, Valpola. Mean teachers are better role models: Weight-averaged
  consistency targets improve semi-supervised deep learning results. NeurIPS
  2017. The code of FixMatch, `mean_teacher.py`.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import losses


@dataclasses.dataclass(frozen=True, kw_only=True)
class PiModel(pooled_method.PooledMethod):
  """The Pi-Model: consistent predictions for two weak augmentations."""

  consistency: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=10.0
  )

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    del memory
    # Three forward passes, each with its own batch normalization.
    (labeled_logits,) = step.logits(step.labeled_images())
    (targets,) = self.target_logits(step, step.weak_images(0))
    (logits,) = step.logits(step.weak_images(1))
    return pooled_method.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.consistency.factor(step.progress)
      * pooled_method.consistency(
        tf.stop_gradient(tf.nn.softmax(targets)), tf.nn.softmax(logits)
      ),
      labeled_logits,
    )

  def target_logits(
    self, step: pooled_method.PooledStep, images: tf.Tensor
  ) -> list[tf.Tensor]:
    """A list of one array: the targets' logits, float32 [batch, classes]."""
    return step.logits(images)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanTeacher(PiModel):
  """Mean Teacher: the teacher is a moving average of the student's weights."""

  consistency: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=50.0
  )

  def target_logits(
    self, step: pooled_method.PooledStep, images: tf.Tensor
  ) -> list[tf.Tensor]:
    return step.teacher_logits(images)


PI_MODEL = pooled.Pooled(method=PiModel())
MEAN_TEACHER = pooled.Pooled(method=MeanTeacher())
