# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Supervised training in one place; each round is an epoch."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.core import alternating_round
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.models import functional


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelsAlone(system.System):
  """Supervised training on the server's labels, without clients."""

  labels = system.Labels.AT_SERVER_ALONE
  uses_strong_views = False
  lengths = ('total_epochs',)

  total_epochs: int = settings.setting(
    400,
    'Epochs, and length of the cosine schedule of the learning rate. Each epoch'
    ' is a round; the first is round 0.',
    settings.AT_LEAST_1,
  )
  learning_rate: float = settings.setting(
    0.1, 'Learning rate of the first epoch.', settings.ABOVE_0
  )
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  class_balance: training_settings.ClassBalance = (
    training_settings.ClassBalance()
  )
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )

  def build(self, ingredients: system.Ingredients) -> system.Process:
    return build_process_without_clients(
      ingredients,
      round_parts.build_server_work(
        ingredients, self.optimizer.build(), self._training
      ),
      # The schedule counts rounds from 1.
      learning_rate_fn=lambda round_num: training_loop.cosine_decay(
        round_num + 1,
        initial_value=self.learning_rate,
        total_rounds=self.total_epochs,
      ),
    )

  @property
  def total_rounds(self) -> int:
    """The number of the last round."""
    return self.total_epochs - 1

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    del client_sizes
    return system.Steps(self._training.count_steps(num_labeled), 0)

  @property
  def _training(self) -> training_settings.ServerTraining:
    return training_settings.ServerTraining(
      server_epochs=1.0,
      server_batch_size=self.server.server_batch_size,
      class_balance=self.class_balance,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AllLabels(LabelsAlone):
  """Supervised training on the true labels of all images: an upper bound."""

  labels = system.Labels.ALL_AT_SERVER


def build_process_without_clients(
  ingredients: system.Ingredients,
  trained: server_work.ServerWork,
  *,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
) -> federated_process.FederatedProcess:
  """Builds a process in which only the server trains."""
  nothing = client_work.build_client_work(
    ingredients.classifier,
    _do_nothing,
    optimizer=tff.learning.optimizers.build_sgdm(1.0),
    max_update_norm_ratio=1.0,
  )
  return composition.build(
    round_parts.build_round_parts(
      ingredients, nothing, trained, learning_rate_fn=learning_rate_fn
    ),
    alternating_round.semifl_round,
  )


def _do_nothing(
  weights: functional.ModelWeights,
  context: federated_process.RoundContext,
  data: Mapping[str, tf.Tensor],
  optimizer_state: Any,
) -> client_work.LocalTraining:
  """Returns the received weights, with an update of weight 0."""
  del context, data
  zero = tf.constant(0.0)
  return client_work.LocalTraining(
    training_loop.TrainingResult(
      tuple(weights.trainable),
      optimizer_state,
      training_loop.TrainingSums(zero, zero, zero, zero),
    ),
    weight=zero,
  )
