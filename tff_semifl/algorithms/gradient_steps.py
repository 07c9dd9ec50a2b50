# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Systems in which a round is one step along the clients' mean gradient."""

import abc
from collections.abc import Mapping, Sequence
import dataclasses
import functools
from typing import Any

import tensorflow as tf

from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import gradients
from tff_semifl.core import method
from tff_semifl.core import server_work as server_work_lib
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregator_settings
from tff_semifl.privacy import aggregators

_WITHOUT_PRIVACY = aggregator_settings.choose_without_privacy(
  'the images that a client of federated SGD trains on depend on how often it'
  ' took part before, which is secret, and epsilon is not computed for that'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aggregation(aggregator_settings.Aggregation):
  """The aggregation of gradients, which is not private."""

  aggregator: aggregator_settings.Aggregator = _WITHOUT_PRIVACY


@dataclasses.dataclass(frozen=True, kw_only=True)
class GradientSteps(system.System):
  """Base of systems whose clients send the gradient of one batch."""

  measures_pseudo_labels = True
  clients_know_participation = True

  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client: training_settings.ClientBatches = training_settings.ClientBatches()
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )
  averaging: Aggregation = Aggregation()

  @abc.abstractmethod
  def train_client(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_work.LocalTraining:
    """The client update: the gradient of one batch, from `gradients.report`.

    `data` is of `pipelines.client_with_participation_type`.
    """

  @abc.abstractmethod
  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> server_work_lib.ServerWork:
    """Builds the server work, by `gradients.build_server_work`."""

  @property
  def guides(self) -> method.Guides:
    """The guides, whose messages clients receive; none by default."""
    return {}

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    aggregator = aggregators.create(
      self.averaging.aggregator.build(
        self.cohorts.clients_per_round, ingredients.privacy_key
      ),
      ingredients.classifier.weights_type.trainable,
    )
    work = client_work.build_client_work(
      ingredients.classifier,
      functools.partial(self.train_client, ingredients),
      data_type=pipelines.client_with_participation_type(
        ingredients.classifier.image_shape
      ),
      optimizer=self.optimizer.build(),
      max_update_norm_ratio=self.averaging.max_update_norm_ratio,
      measure_weight_diversity=aggregator.is_weighted,
      return_given_labels=ingredients.returns_given_labels,
    )
    return composition.build(
      round_parts.build_round_parts(
        ingredients,
        work,
        self.build_server_work(ingredients),
        learning_rate_fn=self.rounds.create_learning_rate_fn(),
        aggregator=aggregator,
        guides=self.guides,
      ),
      gradients.gradient_round,
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    return system.Steps(min(num_labeled, 1), min(len(client_sizes), 1))
