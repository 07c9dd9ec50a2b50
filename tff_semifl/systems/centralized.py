# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Systems that train in one place, a round an epoch (D.1, D33)."""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import schedules
from tff_semifl import settings
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import federated_process
from tff_semifl.models import functional
from tff_semifl.systems import round_parts
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.work import client_report
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import round_context
from tff_semifl.work import training_loop


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelsAlone(system.System):
  """Supervised training on the server's labels, without clients."""

  labels = system.Labels.AT_SERVER_ALONE
  uses_strong_views = False

  total_epochs: int = settings.setting(
    400,
    'Epochs, and length of the cosine that the learning rate follows (D33).'
    ' Each is a round, and the first of them round 0.',
    settings.AT_LEAST_1,
  )
  learning_rate: float = settings.setting(
    0.1, 'Learning rate of the first epoch.', settings.ABOVE_0
  )
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    optimizer = self.optimizer.build()
    return alternating.compose_alternating_process(
      round_parts.build_round_parts(
        ingredients,
        _do_nothing,
        round_parts.build_server_work(
          ingredients,
          optimizer,
          training_settings.ServerTurn(
            server_epochs=1.0, server_batch_size=self.server.server_batch_size
          ),
        ),
        # The schedule counts from 1, its first round, and so do epochs.
        learning_rate_fn=lambda round_num: schedules.cosine_decay(
          round_num + 1,
          initial_value=self.learning_rate,
          total_rounds=self.total_epochs,
        ),
        client_optimizer=optimizer,
      )
    )

  @property
  def total_rounds(self) -> int:
    """The last round."""
    return self.total_epochs - 1

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the steps of a round."""
    del client_sizes  # There are no clients.
    return system.Steps(
      training_settings.count_epoch_steps(
        num_labeled, self.server.server_batch_size, 1
      ),
      0,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AllLabels(LabelsAlone):
  """Supervised training on the labels of all images, an upper bound."""

  labels = system.Labels.ALL_AT_SERVER


def _do_nothing(
  weights: functional.ModelWeights,
  context: round_context.RoundContext,
  data: Mapping[str, tf.Tensor],
  optimizer_state: Any,
  given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
) -> client_report.LocalTraining:
  """Takes the turn of a client that reports nothing."""
  del context, data, given_labels  # Unused.
  zero = tf.constant(0.0)
  return client_report.LocalTraining(
    training_loop.TrainingResult(
      tuple(weights.trainable),
      optimizer_state,
      training_loop.TrainingSums(zero, zero, zero, zero),
    ),
    num_labeled=zero,
    num_confident=zero,
    weight=zero,
  )
