# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""MixMatch (Berthelot et al., NeurIPS 2019).

References:
  Berthelot, Carlini, Goodfellow, Papernot, Oliver, Raffel. MixMatch: A holistic
  approach to semi-supervised learning. NeurIPS 2019. The code of FixMatch,
  `mixmatch.py`.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.baselines.one_place import mixed_step
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.baselines.one_place import pooled_step
from tff_semifl.training import losses
from tff_semifl.training import pseudo_labels
from tff_semifl.training import schedules


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mixing(settings.Settings):
  """MixMatch's label guesses and mixed batches."""

  guess_temperature: float = settings.setting(
    0.5,
    'Temperature that label guesses are sharpened by; 1 leaves them as they'
    ' are.',
    settings.ABOVE_0,
  )
  mixup_concentration: float = settings.setting(
    0.75,
    'Both parameters of the Beta distribution of mixup.',
    settings.ABOVE_0,
  )
  ramp_up_steps: int = settings.setting(
    2**14,
    'Steps in which the weights of the losses of unlabeled images rise from 0;'
    ' 0 for full weights from the first step on.',
    settings.AT_LEAST_0,
  )

  def ramp(self, num: tf.Tensor) -> tf.Tensor:
    """The factor of the loss weights in a step, in [0, 1]."""
    return schedules.ramp_up(num, self.ramp_up_steps)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MixMatch(pooled_method.PooledMethod):
  """MixMatch: sharpened label guesses from two weak augmentations; mixup."""

  mixing: Mixing = Mixing(mixup_concentration=0.5)
  unlabeled: pooled_method.UnlabeledLoss = pooled_method.UnlabeledLoss(
    unlabeled_loss_weight=100.0
  )

  def loss(
    self, step: pooled_step.PooledStep, memory: Any
  ) -> pooled_step.PooledStepOutput:
    """The loss of a step."""
    del memory
    views = [step.weak_images(key) for key in range(2)]
    # Each augmentation is a separate batch.
    guesses = [tf.nn.softmax(step.logits(view)[0]) for view in views]
    mixed = mixed_step.mix(
      step,
      step.labeled_images(),
      views,
      pseudo_labels.sharpen(
        tf.stop_gradient(sum(guesses) / len(guesses)),
        self.mixing.guess_temperature,
      ),
      concentration=self.mixing.mixup_concentration,
    )
    return pooled_step.PooledStepOutput(
      losses.cross_entropy(mixed.labeled_logits, mixed.labels)
      + self.unlabeled.unlabeled_loss_weight
      * self.mixing.ramp(step.num)
      * losses.consistency(
        mixed.guesses, tf.nn.softmax(mixed.unlabeled_logits)
      ),
      mixed.labeled_logits,
    )


MIXMATCH = pooled.Pooled(method=MixMatch())
