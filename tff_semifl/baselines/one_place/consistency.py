# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Pi-Model and Mean Teacher: equal predictions for two weak augmentations.

References:
  Laine, Aila. Temporal ensembling for semi-supervised learning. ICLR 2017. The
  code of FixMatch, `pi_model.py`.
  Tarvainen, Valpola. Mean teachers are better role models: Weight-averaged
  consistency targets improve semi-supervised deep learning results. NeurIPS
  2017. The code of FixMatch, `mean_teacher.py`.
"""

from collections.abc import Callable
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import losses


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
    return _loss(step, step.logits, self.consistency)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanTeacher(pooled_method.PooledMethod):
  """Mean Teacher: a moving average of the student's weights is the teacher.

  The teacher normalizes by batch statistics, as the student does.
  """

  consistency: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=50.0
  )

  def loss(
    self, step: pooled_method.PooledStep, memory: Any
  ) -> pooled_method.PooledStepOutput:
    del memory
    return _loss(step, step.teacher_logits, self.consistency)


def _loss(
  step: pooled_method.PooledStep,
  target_logits: Callable[[tf.Tensor], list[tf.Tensor]],
  consistency: pooled_method.RampedLoss,
) -> pooled_method.PooledStepOutput:
  """The loss with targets from `target_logits`, (images) -> [logits]."""
  # Three passes, each normalized by its own batch.
  (labeled_logits,) = step.logits(step.labeled_images())
  (targets,) = target_logits(step.weak_images(0))
  (logits,) = step.logits(step.weak_images(1))
  return pooled_method.PooledStepOutput(
    losses.cross_entropy(labeled_logits, step.labels)
    + consistency.factor(step.progress)
    * losses.consistency(
      tf.stop_gradient(tf.nn.softmax(targets)), tf.nn.softmax(logits)
    ),
    labeled_logits,
  )


PI_MODEL = pooled.Pooled(method=PiModel())
MEAN_TEACHER = pooled.Pooled(method=MeanTeacher())
