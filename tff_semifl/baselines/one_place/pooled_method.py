# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base of the methods that train on labels and a pool in one place."""

import abc
import dataclasses
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.baselines.one_place import pooled_step
from tff_semifl.models import functional
from tff_semifl.training import schedules


class PooledMethod(settings.Settings, abc.ABC):
  """Base of the methods, each a loss of labeled and unlabeled images.

  Attributes:
    uses_strong_augmentation: Whether it trains on strongly augmented images.
  """

  uses_strong_augmentation: ClassVar[bool] = False

  @abc.abstractmethod
  def loss(
    self, step: pooled_step.PooledStep, memory: Any
  ) -> pooled_step.PooledStepOutput:
    """The loss of a step, of labeled and unlabeled images.

    `memory` is what the method remembers of earlier steps.
    """

  def create_memory(self, classifier: functional.ImageClassifier) -> Any:
    """The method's memory before the first step, a structure of arrays."""
    del classifier
    return ()

  def create_head(
    self, classifier: functional.ImageClassifier, seed: int
  ) -> tuple[np.ndarray, ...]:
    """Initial weights that are trained beside those of the model."""
    del classifier, seed
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnlabeledLoss(settings.Settings):
  """The weight of the loss of unlabeled images."""

  unlabeled_loss_weight: float = settings.setting(
    1.0, 'Weight of the loss of unlabeled images.', settings.AT_LEAST_0
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RampedLoss(UnlabeledLoss):
  """A weight of the loss of unlabeled images that rises during training."""

  ramp_up_share: float = settings.setting(
    0.4,
    'Fraction of all steps in which the weight of unlabeled images rises from'
    ' 0; 0 for full weight from the first step on.',
    settings.FRACTION,
  )

  def factor(self, progress: tf.Tensor) -> tf.Tensor:
    """The weight at `progress`, the fraction of steps taken, a scalar."""
    return self.unlabeled_loss_weight * schedules.ramp_up(
      progress, self.ramp_up_share
    )
