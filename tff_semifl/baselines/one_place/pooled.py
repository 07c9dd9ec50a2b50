# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Semi-supervised learning in one place, without clients.

The baselines of SemiFL's Table 1. Defaults are those of the code of FixMatch.

References:
  Sohn, Berthelot, Li, Zhang, Carlini, Cubuk, Kurakin, Zhang, Raffel. FixMatch:
  Simplifying semi-supervised learning with consistency and confidence. NeurIPS
  2020. https://github.com/google-research/fixmatch
"""

from collections.abc import Sequence
import dataclasses
import functools

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.baselines.one_place import pooled_training
from tff_semifl.core import federated_process
from tff_semifl.core import method as method_lib
from tff_semifl.core import optimizers
from tff_semifl.core import schedules

_HALF_TURNS = 7 / 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelDecay(settings.Settings):
  """Gradient descent with Nesterov momentum and weight decay of kernels."""

  learning_rate: float = settings.setting(
    0.03, 'Learning rate of the first step.', settings.ABOVE_0
  )
  momentum: float = settings.setting(
    0.9, 'Nesterov momentum.', settings.BELOW_1
  )
  weight_decay: float = settings.setting(
    5e-4,
    'Weight decay of kernels; biases and normalizations do not decay.',
    settings.AT_LEAST_0,
  )

  def build(
    self, trainable_names: Sequence[str], num_others: int
  ) -> tff.learning.optimizers.Optimizer:
    """Builds the optimizer; a schedule sets its learning rate.

    `trainable_names` are the model's weights. The `num_others` further weights
    are alternately kernel and bias of a head.
    """
    return optimizers.build_nesterov_sgd(
      momentum=self.momentum,
      weight_decay=self.weight_decay,
      clip_norm=None,
      is_decayed=[
        *('kernel' in name.rpartition('/')[2] for name in trainable_names),
        *(index % 2 == 0 for index in range(num_others)),
      ],
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Average(settings.Settings):
  """The averaged model, which is evaluated and exported."""

  average_decay: float = settings.setting(
    0.999,
    'Decay of the averaged weights, which are evaluated and exported, in a'
    ' step; 0 evaluates the trained weights themselves.',
    settings.BELOW_1,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pooled(system.System):
  """Semi-supervised training in one place, without clients."""

  labels = system.Labels.AT_SERVER_WITH_POOL
  lengths = ('total_steps',)

  method: pooled_method.PooledMethod
  steps: pooled_training.Steps = pooled_training.Steps()
  optimizer: KernelDecay = KernelDecay()
  average: Average = Average()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    training = self.build_training(ingredients)
    return round_parts.build_process_without_clients(
      ingredients,
      pooled_training.build_pooled_work(training),
      learning_rate_fn=training.last_learning_rate,
    )

  def build_training(
    self, ingredients: system.Ingredients
  ) -> pooled_training.PooledTraining:
    """Builds the server's training in a round, in plain TensorFlow."""
    classifier = ingredients.classifier
    head = self.method.create_head(classifier, ingredients.seed)
    return pooled_training.PooledTraining(
      classifier=classifier,
      loss_fn=self.method.loss,
      weak_augmentation=ingredients.weak_augmentation,
      strong_augmentation=ingredients.strong_augmentation,
      steps=self.steps,
      optimizer=self.optimizer.build(classifier.trainable_names, len(head)),
      learning_rate_fn=functools.partial(
        schedules.warm_up_and_cosine,
        base_value=self.optimizer.learning_rate,
        warm_up_steps=0,
        total_steps=self.steps.total_steps,
        half_turns=_HALF_TURNS,
        floor=0.0,
      ),
      average_decay=self.average.average_decay,
      initial_head=head,
      initial_memory=self.method.create_memory(classifier),
    )

  @property
  def summary(self) -> str:
    return f'{super().summary} {method_lib.summarize(self.method)}'

  @property
  def uses_strong_views(self) -> bool:
    return self.method.uses_strong_augmentation

  @property
  def total_rounds(self) -> int:
    return self.steps.total_steps // self.steps.steps_per_round - 1

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    del num_labeled, client_sizes
    return system.Steps(self.steps.steps_per_round, 0)
