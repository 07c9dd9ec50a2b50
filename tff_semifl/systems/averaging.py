# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Systems in which the updates of clients are averaged, round by round."""

from collections.abc import Sequence
import dataclasses

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.aggregation import aggregator_settings
from tff_semifl.core import alternating
from tff_semifl.core import federated_process
from tff_semifl.core import parallel
from tff_semifl.core import round_process
from tff_semifl.models import functional
from tff_semifl.systems import method
from tff_semifl.systems import round_parts
from tff_semifl.systems import system
from tff_semifl.systems import training_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Averaging(system.System):
  """Base of systems whose clients take turns and report updates."""

  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client_turn: training_settings.ClientEpochs = training_settings.ClientEpochs()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )
  client_momentum: training_settings.ClientMomentum = (
    training_settings.ClientMomentum()
  )
  averaging: aggregator_settings.Aggregation = aggregator_settings.Aggregation()
  client: method.Method

  def build_parts(
    self, ingredients: system.Ingredients, server: training_settings.ServerTurn
  ) -> round_process.RoundParts:
    """Builds what the process is made of.

    Args:
      ingredients: The model, the augmentations and what else is given.
      server: The turn of the server.

    Raises:
      settings.SettingError: If the aggregator adds noise to updates, and
        clients report something beside them.
    """
    client_optimizer, server_optimizer = self.create_optimizers(
      ingredients.classifier
    )
    parts = round_parts.build_round_parts(
      ingredients,
      self.client.build(ingredients, client_optimizer, self.client_turn),
      round_parts.build_server_work(ingredients, server_optimizer, server),
      learning_rate_fn=self.rounds.create_learning_rate_fn(),
      client_optimizer=client_optimizer,
      aggregator=self.averaging.aggregator.build(
        self.cohorts.clients_per_round, ingredients.privacy_key
      ),
      rejection=self.averaging,  # Which updates count for nothing.
      client_momentum=self.client_momentum,
      client_data_type=self.client.client_data_type(ingredients.classifier),
      guidance=self.client.build_guidance(ingredients.classifier),
    )
    if self.averaging.private_mean is not None and parts.reports_beside_updates:
      raise settings.SettingError(
        'aggregator',
        'differential_privacy',
        f'{type(self.client).__qualname__} clients report, beside updates,'
        ' what no noise is added to; choose another',
      )
    return parts

  def create_optimizers(
    self, classifier: functional.ImageClassifier
  ) -> tuple[
    tff.learning.optimizers.Optimizer, tff.learning.optimizers.Optimizer
  ]:
    """Creates the optimizers of clients and of the server, for a model."""
    del classifier  # Both train all of it.
    optimizer = self.optimizer.build()
    return optimizer, optimizer

  @property
  def rounds_may_be_added(self) -> bool:
    """True if the learning rate does not depend on how many there are."""
    return self.rounds.are_of_any_number

  @property
  def summary(self) -> str:
    """A line on what it is, and one on its clients."""
    return f'{super().summary} {self.client.summary}'

  @property
  def labels_by_received_model(self) -> bool:
    """True if clients label images with the model that they receive."""
    return self.client.labels_by_received_model

  @property
  def measures_pseudo_labels(self) -> bool:
    """True if pseudo-labels are compared with the truth, where it is known."""
    return self.client.measures_pseudo_labels

  @property
  def weighs_clients(self) -> bool:
    """True if updates of clients that train may differ in weight."""
    return self.client.weighs_clients

  @property
  def aggregation(self) -> aggregator_settings.Aggregation:
    """The aggregation of updates."""
    return self.averaging


@dataclasses.dataclass(frozen=True, kw_only=True)
class SemiSupervisedAveraging(Averaging):
  """Base of systems in which the server trains on its labels too."""

  server: training_settings.ServerTurn = training_settings.ServerTurn()

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the steps of a round."""
    return system.Steps(
      self.server.count_steps(num_labeled),
      self.client_turn.count_steps(client_sizes),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alternating(SemiSupervisedAveraging):
  """Alternate training: clients train, then the server fine-tunes their mean.

  With `FixMix` clients it is SemiFL (Algorithm 1 of the paper).
  """

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return alternating.compose_alternating_process(
      self.build_parts(ingredients, self.server)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parallel(SemiSupervisedAveraging):
  """Parallel training: server and clients train the same weights (D.3)."""

  plain_average: bool = settings.setting(
    False,
    'Whether the server weighs as much as a client, and momentum is that of'
    " the average, as in the paper's words, instead of half of it all, with"
    ' momentum of what divides it from the clients (D35).',
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return parallel.compose_parallel_process(
      self.build_parts(ingredients, self.server),
      server_share_fn=parallel.one_of_all
      if self.plain_average
      else parallel.half,
      step_from_received_weights=self.plain_average,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParallelInTwoGroups(SemiSupervisedAveraging):
  """FedRGD as SemiFL's tables have it: two groups, the server in both (D38)."""

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return parallel.compose_parallel_process(
      self.build_parts(ingredients, self.server),
      server_share_fn=parallel.of_two_groups,
      step_from_received_weights=False,
    )
