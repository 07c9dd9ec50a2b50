# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Mean Teacher (Tarvainen, Valpola, NeurIPS 2017).

References:
  Tarvainen, Valpola. Mean teachers are better role models: Weight-averaged
  consistency targets improve semi-supervised deep learning results. NeurIPS
  2017. The code of FixMatch, `mean_teacher.py`.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.baselines.one_place import pooled_step
from tff_semifl.training import losses


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanTeacher(pooled_method.PooledMethod):
  """Mean Teacher: predictions follow those of an averaged model.

  The teacher normalizes by batch statistics, as the student does.
  """

  consistency: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=50.0
  )

  def loss(
    self, step: pooled_step.PooledStep, memory: Any
  ) -> pooled_step.PooledStepOutput:
    """The loss of a step."""
    del memory
    (labeled_logits,) = step.logits(step.labeled_images())
    (target_logits,) = step.teacher_logits(step.weak_images(0))
    (logits,) = step.logits(step.weak_images(1))
    return pooled_step.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.consistency.factor(step.progress)
      * losses.consistency(tf.nn.softmax(target_logits), tf.nn.softmax(logits)),
      labeled_logits,
    )


MEAN_TEACHER = pooled.Pooled(method=MeanTeacher())
