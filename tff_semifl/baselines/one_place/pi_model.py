# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Pi-Model (Laine, Aila, ICLR 2017).

References:
  Laine, Aila. Temporal ensembling for semi-supervised learning. ICLR 2017. The
  code of FixMatch, `pi_model.py`.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.baselines.one_place import pooled_step
from tff_semifl.training import losses


@dataclasses.dataclass(frozen=True, kw_only=True)
class PiModel(pooled_method.PooledMethod):
  """The Pi-Model: equal predictions for two weak augmentations."""

  consistency: pooled_method.RampedLoss = pooled_method.RampedLoss(
    unlabeled_loss_weight=10.0
  )

  def loss(
    self, step: pooled_step.PooledStep, memory: Any
  ) -> pooled_step.PooledStepOutput:
    """The loss of a step."""
    del memory
    # Three passes, each normalized by its own batch.
    (labeled_logits,) = step.logits(step.labeled_images())
    (target_logits,) = step.logits(step.weak_images(0))
    (logits,) = step.logits(step.weak_images(1))
    return pooled_step.PooledStepOutput(
      losses.cross_entropy(labeled_logits, step.labels)
      + self.consistency.factor(step.progress)
      * losses.consistency(
        tf.stop_gradient(tf.nn.softmax(target_logits)), tf.nn.softmax(logits)
      ),
      labeled_logits,
    )


PI_MODEL = pooled.Pooled(method=PiModel())
