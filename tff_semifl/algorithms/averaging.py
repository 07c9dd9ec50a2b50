# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Systems whose server averages the updates of clients."""

from collections.abc import Sequence
import dataclasses
from typing import Any

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.core import alternating_round
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import method
from tff_semifl.core import rounds as rounds_lib
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators

# (optimizer of the clients, optimizer of the server)
OptimizerPair = tuple[
  tff.learning.optimizers.Optimizer, tff.learning.optimizers.Optimizer
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Averaging(system.System):
  """Base of systems whose clients train locally and send updates."""

  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  local_training: training_settings.ClientEpochs = (
    training_settings.ClientEpochs()
  )
  optimizer: training_settings.ClientOptimizer = (
    training_settings.ClientOptimizer()
  )
  client_momentum: training_settings.ClientMomentum = (
    training_settings.ClientMomentum()
  )
  averaging: aggregators.Aggregation = aggregators.Aggregation()
  client: method.Method

  @property
  def server_training(self) -> training_settings.ServerTraining:
    """The server's training; by default the server takes no step."""
    return training_settings.NO_SERVER_STEP

  def run_round(self, *arguments: Any) -> federated_process.RoundOutput:
    """Runs one round, by default `semifl_round` with the same arguments."""
    return alternating_round.semifl_round(*arguments)

  def build(self, ingredients: system.Ingredients) -> system.Process:
    classifier, client = ingredients.classifier, self.client
    if not self.server_has_labels:
      ingredients = dataclasses.replace(ingredients, computes_statistics=False)
    client_optimizer, server_optimizer = self.create_optimizers(classifier)
    aggregator = aggregators.create(
      self.averaging.aggregator.build(
        clients_per_round=self.cohorts.clients_per_round,
        key=ingredients.privacy_key,
      ),
      classifier.weights_type.trainable,
    )
    if self.averaging.private_mean is not None:
      _refuse_reports(client)
    server = self.server_training
    rate = server.server_learning_rate
    parts = round_parts.build_round_parts(
      ingredients,
      client_work.build_client_work(
        classifier,
        round_parts.build_local_training(
          client, ingredients, client_optimizer, self.local_training
        ),
        data_type=pipelines.labeled_client_type(classifier.image_shape)
        if client.clients_have_labels or self.labels.at_some_clients
        else None,
        optimizer=client_optimizer,
        kept=client_work.Kept(
          self.client_momentum.keep_client_momentum,
          client.init_memory if client.keeps_memory else None,
        ),
        max_update_norm_ratio=self.averaging.max_update_norm_ratio,
        # The diversity would publish sums of updates without noise.
        measure_weight_diversity=aggregator.is_weighted,
        return_given_labels=ingredients.returns_given_labels,
      ),
      round_parts.build_server_work(
        ingredients,
        server_optimizer,
        server,
        rate_factor=1.0 if rate is None else rate / self.rounds.learning_rate,
      ),
      learning_rate_fn=self.rounds.create_learning_rate_fn(),
      aggregator=aggregator,
      global_optimizer=self.create_global_optimizer(),
      guides=client.guides,
    )
    return composition.build(parts, self.run_round)

  def create_optimizers(
    self, classifier: functional.ImageClassifier
  ) -> OptimizerPair:
    """The optimizers of the clients and of the server."""
    del classifier
    return self.optimizer.build(), self.optimizer.build(
      self.server_training.server_optimizer
    )

  def create_global_optimizer(self) -> tff.learning.optimizers.Optimizer:
    """The optimizer of the step from the global model to the clients' mean.

    The gradient is the global model minus the mean, and the learning rate is
    constant. By default SGD with learning rate 1 and `global_momentum`.
    """
    return tff.learning.optimizers.build_sgdm(
      1.0, momentum=self.client_momentum.global_momentum
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    return system.Steps(
      self.server_training.count_steps(num_labeled),
      self.local_training.count_steps(client_sizes),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alternating(Averaging):
  """Alternate training: clients train, then the server fine-tunes the average.

  With `FixMix` clients this system is Algorithm 1 of SemiFL.
  """

  server: training_settings.ServerTraining = training_settings.ServerTraining()

  @property
  def server_training(self) -> training_settings.ServerTraining:
    return self.server


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabeledClients(Averaging):
  """Federated averaging with labels at some clients, none at the server.

  Labeled images keep their true labels; the client method labels the rest.
  """

  labels = system.Labels.AT_SOME_CLIENTS


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlternatingLabeledClients(Alternating):
  """Alternate training with labels at the server and at some clients."""

  labels = system.Labels.AT_SERVER_AND_SOME_CLIENTS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parallel(Alternating):
  """Parallel training: server and clients start from the same weights."""

  plain_average: bool = settings.setting(
    False,
    'Whether the server has the weight of a client, with momentum of the'
    " average (SemiFL's paper). Otherwise it has weight 1/2, with momentum of"
    " the difference between server and clients (its authors' code).",
  )

  def run_round(self, *arguments: Any) -> federated_process.RoundOutput:
    return rounds_lib.parallel_round(
      *arguments,
      server_share_fn=rounds_lib.one_of_all
      if self.plain_average
      else rounds_lib.half,
      step_from_received_weights=self.plain_average,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParallelInTwoGroups(Alternating):
  """FedRGD as in SemiFL's tables: the server joins two client groups."""

  def run_round(self, *arguments: Any) -> federated_process.RoundOutput:
    return rounds_lib.parallel_round(
      *arguments,
      server_share_fn=rounds_lib.of_two_groups,
      step_from_received_weights=False,
    )


def _refuse_reports(client: method.Method) -> None:
  """Raises a SettingError if clients report more than their updates."""
  defaults = (None, method.Method.report, client_parts.ClientPart.report)
  reporting = (client, *client.parts.values())
  if any(
    getattr(type(each), 'report', None) not in defaults for each in reporting
  ):
    raise settings.SettingError(
      'aggregator',
      'differential_privacy',
      f'{type(client).__qualname__} clients report, beside updates, sums to'
      ' which no noise is added; choose another',
    )
