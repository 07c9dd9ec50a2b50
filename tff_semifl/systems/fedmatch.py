# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch, as its own authors have it and as SemiFL's tables do (D.6)."""

from collections.abc import Sequence
import dataclasses
import types

from tff_semifl import settings
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import fedmatch
from tff_semifl.algorithms import fedmatch_as_in_semifl
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.programs import helpers
from tff_semifl.programs import outputs
from tff_semifl.systems import aggregations
from tff_semifl.systems import averaging
from tff_semifl.systems import system
from tff_semifl.systems import training_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Averaging(aggregations.Aggregation):
  """How updates are averaged, with weights of 0 or 1."""

  aggregator: aggregations.Aggregator = aggregations.choose_without_privacy(
    'FedMatch weighs its updates, which is not private'
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatch(system.System):
  """FedMatch (Jeong et al., ICLR 2021), with helpers; its authors' settings."""

  usual = types.MappingProxyType(
    {'model': 'fedmatch_resnet', 'strong_augmentation': 'fedmatch'}
  )
  models = ('fedmatch_resnet',)
  chooses_statistics = False

  cohorts: training_settings.Cohorts = training_settings.Cohorts(
    clients_per_round=5
  )
  rounds: training_settings.Rounds = training_settings.Rounds(
    total_rounds=200, learning_rate=1e-3
  )
  client_turn: training_settings.ClientEpochs = training_settings.ClientEpochs(
    client_epochs=1.0, client_batch_size=100
  )
  server: training_settings.ServerEpochs = training_settings.ServerEpochs(
    server_epochs=1.0, server_batch_size=100
  )
  confidence: training_settings.Confidence = training_settings.Confidence(
    confidence_threshold=0.75
  )
  supervised_loss_weight: float = settings.setting(
    10.0,
    "Factor on the server's loss, lambda_s in FedMatch.",
    settings.AT_LEAST_0,
  )
  num_helpers: int = settings.setting(
    2,
    'Clients whose models a client is sent to label with, H in FedMatch.',
    settings.AT_LEAST_1,
  )
  rounds_per_help: int = settings.setting(
    10,
    'Only every so many rounds are clients sent such models.',
    settings.AT_LEAST_1,
  )
  averaging: _Averaging = _Averaging()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return fedmatch.build_fedmatch(
      ingredients.classifier,
      fedmatch.FedMatchHyperparameters(
        seed=ingredients.seed,
        learning_rate=self.rounds.learning_rate,
        server_epochs=self.server.server_epochs,
        client_epochs=self.client_turn.client_epochs,
        server_batch_size=self.server.server_batch_size,
        client_batch_size=self.client_turn.client_batch_size,
        confidence_threshold=self.confidence.confidence_threshold,
        supervised_loss_weight=self.supervised_loss_weight,
        max_update_norm_ratio=self.averaging.max_update_norm_ratio,
        return_given_labels=ingredients.returns_given_labels,
      ),
      strong_augmentation=ingredients.strong_augmentation,
      aggregator=self.averaging.aggregator.build(
        self.cohorts.clients_per_round, None
      ),
    )

  def create_memories(
    self,
    process: federated_process.FederatedProcess,
    folder: outputs.ExperimentFolder,
    *,
    num_clients: int,
    num_kept: int,
  ) -> helpers.Helpers:
    """Creates what remembers models, and sends them to clients to help."""
    return helpers.Helpers(
      process,
      folder.path / 'helpers',
      num_clients=num_clients,
      num_helpers=self.num_helpers,
      rounds_per_help=self.rounds_per_help,
      num_kept=num_kept,
    )

  @property
  def measures_pseudo_labels(self) -> bool:
    """True if pseudo-labels are compared with the truth, where it is known."""
    return True

  @property
  def aggregation(self) -> aggregations.Aggregation:
    """The aggregation of updates."""
    return self.averaging

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the steps of a round."""
    return system.Steps(
      system.count_epoch_steps(
        num_labeled, self.server.server_batch_size, self.server.server_epochs
      ),
      system.count_epoch_steps(
        max(client_sizes, default=0),
        self.client_turn.client_batch_size,
        self.client_turn.client_epochs,
      ),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatchAsInSemiFL(averaging.SemiSupervisedAveraging):
  """FedMatch as SemiFL's tables have it: disjoint learning alone (D40)."""

  usual = types.MappingProxyType({'model': 'decomposed_wide_resnet'})
  models = ('decomposed_wide_resnet',)
  labels_by_received_model = False
  measures_pseudo_labels = True

  confidence: training_settings.Confidence = training_settings.Confidence()
  reproduce_bugs: bool = settings.setting(
    True,
    "Whether, as in the code of SemiFL's authors, half of the outputs of each"
    ' kernel only decay at the server, and nobody trains normalization and'
    ' classifier (D41).',
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return fedmatch_as_in_semifl.build_fedmatch_as_in_semifl(
      ingredients.classifier,
      hyperparameters_lib.Hyperparameters(
        total_rounds=self.rounds.total_rounds,
        learning_rate=self.rounds.learning_rate,
        client_epochs=self.client_turn.client_epochs,
        client_batch_size=self.client_turn.client_batch_size,
        server_batch_size=self.server.server_batch_size,
        server_epochs=self.server.server_epochs,
        keep_server_momentum=self.server.keep_server_momentum,
        confidence_threshold=self.confidence.confidence_threshold,
        seed=ingredients.seed,
        optimizer=self.optimizer.build(),
        global_momentum=self.client_momentum.global_momentum,
        keep_client_momentum=self.client_momentum.keep_client_momentum,
        max_update_norm_ratio=self.averaging.max_update_norm_ratio,
        server_statistics=ingredients.computes_statistics,
        return_given_labels=ingredients.returns_given_labels,
      ),
      weak_augmentation=ingredients.weak_augmentation,
      strong_augmentation=ingredients.strong_augmentation,
      reproduce_bugs=self.reproduce_bugs,
      aggregator=self.averaging.aggregator.build(
        self.cohorts.clients_per_round, ingredients.privacy_key
      ),
    )
