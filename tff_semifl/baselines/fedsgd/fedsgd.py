# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch, and what SemiFL's authors ran for it."""

from collections.abc import Sequence
import dataclasses
import math

from tff_semifl import settings
from tff_semifl.baselines.fedsgd import fedsgd_fixmatch_as_in_semifl
from tff_semifl.baselines.fedsgd import gradient_work
from tff_semifl.baselines.fedsgd import union_training
from tff_semifl.baselines.fedsgd import union_work
from tff_semifl.core import federated_process
from tff_semifl.core import gradients
from tff_semifl.core import rounds
from tff_semifl.systems import gradient_steps
from tff_semifl.systems import round_parts
from tff_semifl.systems import system
from tff_semifl.systems import training_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGD(gradient_steps.GradientSteps):
  """Federated SGD: a round is one step, on the mean of clients' gradients."""

  confidence: training_settings.Confidence = training_settings.Confidence()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    classifier = ingredients.classifier
    return self.compose(
      ingredients,
      gradient_work.build_gradient_training(
        classifier,
        weak_augmentation=ingredients.weak_augmentation,
        strong_augmentation=ingredients.strong_augmentation,
        batch_size=self.client.client_batch_size,
        confidence_threshold=self.confidence.confidence_threshold,
      ),
      gradients.build_server_work(
        classifier,
        augmentation_fn=ingredients.weak_augmentation,
        optimizer=self.optimizer.build(),
        batch_size=self.server.filled_batch_size,
      ),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGDAsInSemiFL(system.System):
  """The program of SemiFL's authors: a batch of several clients."""

  measures_pseudo_labels = True
  all_clients_take_part = True
  gathers_images = True

  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client: training_settings.ClientBatches = training_settings.ClientBatches()
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  confidence: training_settings.Confidence = training_settings.Confidence()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )
  clients_per_step: int = settings.setting(
    10,
    'Clients of whose images a step is made, as long as so many have images'
    ' left in the epoch.',
    settings.AT_LEAST_1,
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return rounds.build(
      rounds.Parts(
        classifier=ingredients.classifier,
        seed=ingredients.seed,
        learning_rate_fn=self.rounds.create_learning_rate_fn(),
        server_work=union_work.build_union_work(
          union_training.UnionSteps(
            classifier=ingredients.classifier,
            weak_augmentation=ingredients.weak_augmentation,
            strong_augmentation=ingredients.strong_augmentation,
            optimizer=self.optimizer.build(),
            clients_per_step=self.clients_per_step,
            client_batch_size=self.client.client_batch_size,
            server_batch_size=self.server.filled_batch_size,
            confidence_threshold=self.confidence.confidence_threshold,
          )
        ),
        statistics=round_parts.build_batch_norm_statistics(ingredients),
      ),
      fedsgd_fixmatch_as_in_semifl.union_round,
      returns_given_labels=ingredients.returns_given_labels,
    )

  def check_num_clients(self, num_clients: int) -> None:
    """Checks that there are as many clients as a step is to have."""
    if self.clients_per_step > num_clients:
      raise settings.SettingError(
        'clients_per_step',
        self.clients_per_step,
        f'there are {num_clients} clients; a step can have at most as many',
      )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the steps of a round, at least, if every step is full."""
    del num_labeled  # Each step has a batch of them.
    batches = [
      math.ceil(size / self.client.client_batch_size) for size in client_sizes
    ]
    steps = max([math.ceil(sum(batches) / self.clients_per_step), *batches])
    return system.Steps(steps, max(batches))
