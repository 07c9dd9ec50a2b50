# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Elastic averaging: clients with models of their own, tied to an anchor.

Table 4 of Zhang et al. compares their systems with the two here. All clients
have labels; the server has no images and does not train.

References:
  Zhang, Choromanska, LeCun. Deep learning with elastic averaging SGD. NeurIPS
  2015.
  Wang, Liang, Joshi. Overlap local-SGD: An algorithmic approach to hide
  communication delays in distributed SGD. ICASSP 2020.
"""

import abc
import dataclasses

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.aggregation import aggregators
from tff_semifl.aggregation import finalizer
from tff_semifl.baselines.elastic import elastic_work
from tff_semifl.baselines.zhang2020 import labeled_steps
from tff_semifl.baselines.zhang2020 import zhang2020
from tff_semifl.core import federated_process
from tff_semifl.core import rounds
from tff_semifl.systems import round_parts
from tff_semifl.systems import system
from tff_semifl.systems import training_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Elastic(zhang2020.ManyShortRounds):
  """Base of EASGD and OverlapSGD: clients and anchor attract each other."""

  labels = system.Labels.AT_CLIENTS
  uses_strong_views = False

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the TFF process of this system."""
    classifier = ingredients.classifier
    optimizer = self.optimizer.build()
    steps = self.create_steps(optimizer)
    factory, anchor_optimizer = self.build_anchor()
    weights_type = classifier.weights_type
    return rounds.build(
      rounds.Parts(
        classifier=classifier,
        seed=ingredients.seed,
        learning_rate_fn=steps.last_learning_rate,
        client_work=elastic_work.build_elastic_work(
          classifier,
          labeled_steps.build_labeled_client_steps(
            classifier,
            weak_augmentation=ingredients.weak_augmentation,
            steps=steps,
          ),
          optimizer=optimizer,
          pull=self.pull,
          max_update_norm_ratio=self.rejection.max_update_norm_ratio,
        ),
        aggregator=aggregators.create(factory, weights_type.trainable),
        finalizer=finalizer.build_finalizer(anchor_optimizer, weights_type),
        # The server has no images and takes no step.
        server_work=round_parts.build_server_work(
          ingredients,
          optimizer,
          training_settings.ServerTraining(
            server_epochs=0.0, server_batch_size=1
          ),
        ),
      )
    )

  @property
  @abc.abstractmethod
  def pull(self) -> float:
    """The fraction of the way to the anchor that a client is pulled."""

  @abc.abstractmethod
  def build_anchor(
    self,
  ) -> tuple[
    tff.aggregators.AggregationFactory, tff.learning.optimizers.Optimizer
  ]:
    """Builds the aggregation of updates and the optimizer of the anchor.

    An update is the anchor minus the client's trained model.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class EASGD(_Elastic):
  """EASGD, elastic averaging: clients and anchor are pulled to each other."""

  moving_rate: float | None = settings.setting(
    None,
    'Fraction of the way to the anchor that clients are pulled, and that each'
    ' client pulls the anchor (alpha): at most 1 / --clients_per_round, by'
    ' default 0.9 / --clients_per_round.',
    settings.FRACTION,
  )

  @property
  def pull(self) -> float:
    """The moving rate."""
    num_clients = max(self.cohorts.filled_size, 1)
    if self.moving_rate is None:
      return 0.9 / num_clients
    if self.moving_rate * num_clients > 1:
      raise settings.SettingError(
        'moving_rate',
        self.moving_rate,
        f'must be at most 1 / {num_clients}, one over the clients of a round:'
        ' together they would pull the anchor beyond themselves',
      )
    return self.moving_rate

  def build_anchor(
    self,
  ) -> tuple[
    tff.aggregators.AggregationFactory, tff.learning.optimizers.Optimizer
  ]:
    """The sum of updates, and the optimizer that steps by the moving rate."""
    return (
      tff.aggregators.SumFactory(),
      tff.learning.optimizers.build_sgdm(self.pull),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverlapSGD(_Elastic):
  """Overlap local SGD: clients are pulled to the anchor of the last round.

  Clients do not wait for the average of a round, and receive it in the next.
  """

  pull_back: float = settings.setting(
    0.6,
    'Fraction of the way to the anchor that clients are pulled (alpha).',
    settings.BELOW_1,
  )
  anchor_momentum: float = settings.setting(
    0.7, 'Momentum of the anchor from round to round.', settings.BELOW_1
  )

  @property
  def pull(self) -> float:
    """The pull back."""
    return self.pull_back

  def build_anchor(
    self,
  ) -> tuple[
    tff.aggregators.AggregationFactory, tff.learning.optimizers.Optimizer
  ]:
    """Builds the mean of the pulled models, with momentum."""
    return (
      aggregators.build_mean(),
      # The fraction of an update that the pull leaves.
      tff.learning.optimizers.build_sgdm(
        1.0 - self.pull_back, momentum=self.anchor_momentum
      ),
    )
