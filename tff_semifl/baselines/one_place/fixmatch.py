# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FixMatch (Sohn et al., NeurIPS 2020).

References:
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. Its authors' code, `fixmatch.py`.
"""

import dataclasses
from typing import Any

from tff_semifl.algorithms import training_settings
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.baselines.one_place import pooled_training
from tff_semifl.core import losses
from tff_semifl.core import pseudo_labels


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


FIXMATCH = pooled.Pooled(
  method=FixMatch(), steps=pooled_training.Steps(unlabeled_ratio=7)
)
