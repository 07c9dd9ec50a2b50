# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base of the methods that train on labels and a pool in one place (F)."""

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
  """Base of the methods, each with a loss of unlabeled images.

  Attributes:
    uses_strong_views: Whether it trains on strong views.
  """

  uses_strong_views: ClassVar[bool] = False

  @abc.abstractmethod
  def loss(
    self, step: pooled_step.PooledStep, memory: Any
  ) -> pooled_step.PooledStepOutput:
    """Returns the loss of a step, that of labeled images included.

    Args:
      step: Images, views and models.
      memory: What the method remembers of earlier steps.
    """

  def create_memory(self, classifier: functional.ImageClassifier) -> Any:
    """Creates what the method remembers before the first step.

    Args:
      classifier: The model.

    Returns:
      A structure of arrays.
    """
    del classifier  # By default it is nothing.
    return ()

  def create_head(
    self, classifier: functional.ImageClassifier, seed: int
  ) -> tuple[np.ndarray, ...]:
    """Creates weights that are trained beside those of the model.

    Args:
      classifier: The model.
      seed: The run's seed.
    """
    del classifier, seed  # By default there are none.
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnlabeledLoss(settings.Settings):
  """The weight of unlabeled images."""

  unlabeled_loss_weight: float = settings.setting(
    1.0, 'Factor on the loss of unlabeled images.', settings.AT_LEAST_0
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RampedLoss(UnlabeledLoss):
  """The weight of unlabeled images, which rises as training goes on (F.2)."""

  ramp_up_share: float = settings.setting(
    0.4,
    'Share of all steps in which that factor rises from 0; 0 has all of it from'
    ' the first step on.',
    settings.FRACTION,
  )

  def factor(self, progress: tf.Tensor) -> tf.Tensor:
    """Returns the factor when a share of all steps was taken, a scalar."""
    return self.unlabeled_loss_weight * schedules.ramp_up(
      progress, self.ramp_up_share
    )
