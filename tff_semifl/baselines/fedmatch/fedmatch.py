# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch with labels at the server, and as in SemiFL's tables.

The authors' program divides the learning rate by three after 20 validations
without improvement. This schedule is left out, because it needs labels at the
clients.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021. https://arxiv.org/abs/2006.12097
"""

from collections.abc import Sequence
import dataclasses
import functools
import pathlib
import types

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.baselines.fedmatch import fedmatch_training
from tff_semifl.baselines.fedmatch import helpers
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import server_work
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators


def fedmatch_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  memories: tff.Value,
) -> federated_process.RoundOutput:
  """A round of FedMatch, in which models of other clients help to label.

  The server trains sigma, then clients train phi, and the mean of the clients'
  phi is the new phi. Evaluation ignores small values of phi. Round 0 has no
  clients, so the server trains in one round more than in the authors' code.

  The memory of a client is phi of its helpers before a round, and a
  `ClientModel` after it. The program that runs the process chooses helpers.
  Kernels of the model have two parts, as in `create_fedmatch_resnet`.
  """

  def apply(is_used, weights, update):
    return functional.ModelWeights(
      tuple(
        tf.where(is_used, weight - change, weight)
        for weight, change in zip(weights.trainable, update, strict=True)
      ),
      weights.non_trainable,
    )

  context = p.begin(state)
  # The optimizers of server and clients start afresh in each round.
  tuned = p.server(state, state.global_model_weights, context, server_data)
  received = composition.broadcast(tuned.weights, context)
  trained = p.clients(received, client_data, memories)
  mean = p.mean(state, trained)
  return p.finish(
    state,
    context,
    trained,
    {'server': tuned.measurements, 'aggregator': mean.measurements},
    global_model_weights=composition.run(
      apply, mean.is_used, tuned.weights, mean.update
    ),
    aggregator=mean.state,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Averaging(aggregators.Aggregation):
  """Averages updates with weights of 0 or 1."""

  aggregator: aggregators.Aggregator = aggregators.choose_without_privacy(
    'FedMatch weighs its updates, which is not private'
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatch(system.System):
  """FedMatch (Jeong et al., ICLR 2021), with helpers; its authors' settings."""

  usual = types.MappingProxyType(
    {'model': 'fedmatch_resnet', 'strong_augmentation': 'fedmatch'}
  )
  models = ('fedmatch_resnet',)
  measures_pseudo_labels = True
  chooses_statistics = False

  cohorts: training_settings.Cohorts = training_settings.Cohorts(
    clients_per_round=5
  )
  rounds: training_settings.Rounds = training_settings.Rounds(
    total_rounds=200, learning_rate=1e-3
  )
  local_training: training_settings.ClientEpochs = (
    training_settings.ClientEpochs(client_epochs=1.0, client_batch_size=100)
  )
  server: training_settings.ServerEpochs = training_settings.ServerEpochs(
    server_epochs=1.0, server_batch_size=100
  )
  confidence: training_settings.Confidence = training_settings.Confidence(
    confidence_threshold=0.75
  )
  supervised_loss_weight: float = settings.setting(
    10.0,
    "Weight of the server's loss, lambda_s in FedMatch.",
    settings.AT_LEAST_0,
  )
  num_helpers: int = settings.setting(
    2,
    'Number of helpers, clients whose models are sent to a client to label'
    ' with; H in FedMatch.',
    settings.AT_LEAST_1,
  )
  rounds_per_help: int = settings.setting(
    10,
    'Number of rounds after which clients are sent helpers again.',
    settings.AT_LEAST_1,
  )
  client_loss_weights: fedmatch_training.ClientLossWeights = (
    fedmatch_training.ClientLossWeights()
  )
  averaging: _Averaging = _Averaging()

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    classifier = ingredients.classifier
    kernels = fedmatch_networks.find_parts(classifier.trainable_names)
    descent = tff.learning.optimizers.build_sgdm(self.rounds.learning_rate)
    of_server = optimizers.restrict(descent, kernels.sigma)
    of_clients = optimizers.restrict(descent, kernels.phi)
    aggregator = self.averaging.aggregator.build()
    if not isinstance(aggregator, tff.aggregators.WeightedAggregationFactory):
      raise TypeError(
        'FedMatch needs a weighted aggregator, found'
        f' {type(aggregator).__name__}.'
      )
    train_client = fedmatch_training.ClientTraining(
      classifier=classifier,
      strong_augmentation=ingredients.strong_augmentation,
      optimizer=of_clients,
      num_epochs=self.local_training.client_epochs,
      batch_size=self.local_training.client_batch_size,
      confidence_threshold=self.confidence.confidence_threshold,
      loss_weights=self.client_loss_weights,
    )
    parts = composition.Parts(
      classifier=classifier,
      seed=ingredients.seed,
      learning_rate_fn=lambda _: tf.constant(self.rounds.learning_rate),
      server_work=server_work.build_server_work(
        classifier,
        fedmatch_training.ServerTraining(
          classifier=classifier,
          optimizer=of_server,
          num_epochs=self.server.server_epochs,
          batch_size=self.server.filled_batch_size,
          loss_weight=self.supervised_loss_weight,
        ),
        optimizer=of_server,
        keep_optimizer_state=False,
      ),
      client_work=helpers.build_helped_work(
        classifier,
        lambda helpers: client_work.build_client_work(
          classifier,
          functools.partial(train_client, helpers=helpers),
          optimizer=of_clients,
          max_update_norm_ratio=self.averaging.max_update_norm_ratio,
          return_given_labels=ingredients.returns_given_labels,
        ),
        ingredients.seed,
      ),
      aggregator=aggregators.create(
        aggregator,
        classifier.weights_type.trainable,
      ),
    )
    return composition.build(parts, fedmatch_round)

  def create_memories(
    self,
    process: federated_process.FederatedProcess,
    folder: pathlib.Path,
    *,
    num_clients: int,
    num_kept: int,
  ) -> helpers.Helpers:
    return helpers.Helpers(
      process,
      folder / 'helpers',
      num_clients=num_clients,
      num_helpers=self.num_helpers,
      rounds_per_help=self.rounds_per_help,
      num_kept=num_kept,
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    return system.Steps(
      self.server.count_steps(num_labeled),
      self.local_training.count_steps(client_sizes),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatchAsInSemiFL(averaging.Alternating):
  """FedMatch as in SemiFL's tables: disjoint learning alone."""

  usual = types.MappingProxyType({'model': 'decomposed_wide_resnet'})
  models = ('decomposed_wide_resnet',)

  client: method.Method = fix_mix.LabelEachBatch()
  reproduce_bugs: bool = settings.setting(
    True,
    "Whether to reproduce two mistakes of the code of SemiFL's authors: half of"
    ' the outputs of each kernel only decay at the server, and no node trains'
    ' normalization and classifier.',
  )

  def create_optimizers(
    self, classifier: functional.ImageClassifier
  ) -> averaging.OptimizerPair:
    """Creates the clients' optimizer, for phi, and the server's, for sigma.

    Weights that a side does not train do not decay there. Gradients are clipped
    by the norm over all weights. Because sigma and phi have equal gradients,
    clipped steps are shorter than with plain kernels.
    """
    parts = fedmatch_networks.find_parts(classifier.trainable_names)
    of_clients, of_server = super().create_optimizers(classifier)
    if self.reproduce_bugs:
      return (
        optimizers.restrict(of_clients, parts.phi),
        optimizers.restrict(
          of_server, parts.sigma, optimizers.zero_second_half
        ),
      )
    # Client and server both train normalization and classifier, which are
    # averaged like phi.
    return (
      optimizers.restrict(
        of_clients, [not is_sigma for is_sigma in parts.sigma]
      ),
      optimizers.restrict(of_server, [not is_phi for is_phi in parts.phi]),
    )
