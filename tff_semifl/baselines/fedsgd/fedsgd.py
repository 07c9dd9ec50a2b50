# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch: as a federated method, and as in SemiFL's code."""

from collections.abc import Sequence
import dataclasses
import math

from tff_semifl import settings
from tff_semifl.aggregation import aggregator_settings
from tff_semifl.baselines.fedsgd import fedsgd_fixmatch
from tff_semifl.baselines.fedsgd import fedsgd_fixmatch_as_in_semifl
from tff_semifl.baselines.fedsgd import gradient_work
from tff_semifl.baselines.fedsgd import union_training
from tff_semifl.baselines.fedsgd import union_work
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.systems import round_parts
from tff_semifl.systems import system
from tff_semifl.systems import training_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class _FedSGD(system.System):
  """Base of both systems: steps on batches of server and clients."""

  measures_pseudo_labels = True

  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client: training_settings.ClientBatches = training_settings.ClientBatches()
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  confidence: training_settings.Confidence = training_settings.Confidence()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )


_WITHOUT_PRIVACY = aggregator_settings.choose_without_privacy(
  'the images that a client of federated SGD trains on depend on how often it'
  ' took part before, which is secret, and epsilon is not computed for that'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Averaging(aggregator_settings.Aggregation):
  """The aggregation of gradients, without differential privacy."""

  aggregator: aggregator_settings.Aggregator = _WITHOUT_PRIVACY


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGD(_FedSGD):
  """Federated SGD: a round is one step, on the mean of clients' gradients."""

  clients_know_turns = True

  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  averaging: _Averaging = _Averaging()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the TFF process of this system."""
    classifier, optimizer = ingredients.classifier, self.optimizer.build()
    return fedsgd_fixmatch.compose_gradient_process(
      round_parts.build_round_parts(
        ingredients,
        gradient_work.build_gradient_training(
          classifier,
          weak_augmentation=ingredients.weak_augmentation,
          strong_augmentation=ingredients.strong_augmentation,
          batch_size=self.client.client_batch_size,
          confidence_threshold=self.confidence.confidence_threshold,
        ),
        gradient_work.build_gradient_server_work(
          classifier,
          weak_augmentation=ingredients.weak_augmentation,
          optimizer=optimizer,
          batch_size=self.server.filled_batch_size,
        ),
        learning_rate_fn=self.rounds.create_learning_rate_fn(),
        client_optimizer=optimizer,
        aggregator=self.averaging.aggregator.build(
          self.cohorts.clients_per_round, ingredients.privacy_key
        ),
        rejection=self.averaging,
        client_data_type=pipelines.client_with_turn_type(
          classifier.image_shape
        ),
      )
    )

  @property
  def aggregation(self) -> aggregator_settings.Aggregation:
    """The aggregation of gradients."""
    return self.averaging

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the steps of a round."""
    return system.Steps(min(num_labeled, 1), min(len(client_sizes), 1))


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGDAsInSemiFL(_FedSGD):
  """Federated SGD as SemiFL's authors ran it: batches of several clients."""

  all_clients_take_part = True
  gathers_images = True

  clients_per_step: int = settings.setting(
    10,
    'Clients whose images form a step, if so many have images left in the'
    ' epoch.',
    settings.AT_LEAST_1,
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the TFF process of this system."""
    return fedsgd_fixmatch_as_in_semifl.compose_union_process(
      union_work.build_union_work(
        union_training.UnionSteps(
          classifier=ingredients.classifier,
          weak_augmentation=ingredients.weak_augmentation,
          strong_augmentation=ingredients.strong_augmentation,
          optimizer=self.optimizer.build(),
          clients_per_step=self.clients_per_step,
          client_batch_size=self.client.client_batch_size,
          server_batch_size=self.server.filled_batch_size,
          confidence_threshold=self.confidence.confidence_threshold,
        ),
        returns_given_labels=ingredients.returns_given_labels,
      ),
      round_parts.build_batch_norm_statistics(ingredients),
      initial_weights=ingredients.classifier.initial_weights,
      seed=ingredients.seed,
      learning_rate_fn=self.rounds.create_learning_rate_fn(),
    )

  def check_num_clients(self, num_clients: int) -> None:
    """Checks that there are as many clients as a step has."""
    if self.clients_per_step > num_clients:
      raise settings.SettingError(
        'clients_per_step',
        self.clients_per_step,
        f'there are {num_clients} clients; a step can have at most as many',
      )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the least possible steps of a round."""
    del num_labeled
    batches = [
      math.ceil(size / self.client.client_batch_size) for size in client_sizes
    ]
    steps = max([math.ceil(sum(batches) / self.clients_per_step), *batches])
    return system.Steps(steps, max(batches))
