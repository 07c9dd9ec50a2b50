# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch with labels at the server, as its own authors have it (D.6, D40).

Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
Consistency & Disjoint Learning. ICLR 2021. https://arxiv.org/abs/2006.12097

Not there: the authors divide the learning rate of server or client by three
after 20 validations in a row that did not improve it, on labelled images that
clients would have to hold.
"""

import collections
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import optimizers
from tff_semifl.algorithms import aggregators
from tff_semifl.algorithms import federated_process
from tff_semifl.augment import augmentation
from tff_semifl.models import decomposed_convolution
from tff_semifl.models import functional
from tff_semifl.work import client_work_process
from tff_semifl.work import fedmatch_client_work
from tff_semifl.work import fedmatch_losses
from tff_semifl.work import fedmatch_training
from tff_semifl.work import round_context
from tff_semifl.work import server_work


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatchHyperparameters:
  """How server and clients train; defaults are those of the authors' code.

  Attributes:
    seed: The run's seed.
    learning_rate: Of the plain gradient descent of server and clients.
    server_epochs: Epochs of the server in a round.
    client_epochs: Epochs of a client in a round.
    server_batch_size: Labelled images in a step.
    client_batch_size: Images in a step of a client.
    confidence_threshold: In (0, 1].
    supervised_loss_weight: lambda_s.
    client_loss_weights: Those of the terms of a client's loss.
    max_update_norm_ratio: As in `Hyperparameters`.
    return_given_labels: Likewise.
  """

  seed: int = 0
  learning_rate: float = 1e-3
  server_epochs: float = 1
  client_epochs: float = 1
  server_batch_size: int = 100
  client_batch_size: int = 100
  confidence_threshold: float = 0.75
  supervised_loss_weight: float = 10.0
  client_loss_weights: fedmatch_losses.ClientLossWeights = (
    fedmatch_losses.ClientLossWeights()
  )
  max_update_norm_ratio: float = 10.0
  return_given_labels: bool = False


class FedMatchState(NamedTuple):
  """State of the process.

  Attributes:
    global_model_weights: sigma and phi, as `tff.learning.models.ModelWeights`.
    aggregator: State of the aggregator.
    round_num: int32, the round that `next` will run.
    seed: int32, the run's seed.
  """

  global_model_weights: Any
  aggregator: Any
  round_num: Any
  seed: Any


def build_fedmatch(
  classifier: functional.ImageClassifier,
  hyperparameters: FedMatchHyperparameters,
  *,
  strong_augmentation: augmentation.Augmentation,
  aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds FedMatch, in which clients are helped by models of others.

      sigma, phi ──> server_work ──> broadcast ──> client_work ──> mean ──> phi
                          ^                          ^      ^ │
                     server_data            client_data     │ └─> ClientModel
                                                         helpers

  In each round the server trains sigma, then clients train phi, whose mean is
  the new phi. The global model is evaluated after the mean, with small values
  of phi left out, which the model sees to. Round 0 has no clients: the server
  trains once more than in the authors' code.

  A client's memory is phi of its helpers when it comes, and a `ClientModel`
  when it leaves: who helps whom is up to whoever runs the process, as
  `programs.helpers` does. That models travel from client to client is the
  method: no secure sum can hide them, and no noise of an aggregator.

  Args:
    classifier: The model, with kernels of two parts, such as those of
      `create_fedmatch_resnet`.
    hyperparameters: The numbers.
    strong_augmentation: For the clients' strong views.
    aggregator: By default the uniform mean of the clients that count.

  Returns:
    A process with metrics `client`, `server`, `aggregator` and
    `learning_rate`, as those of `round_process.build_process`.

  Raises:
    ValueError: If no kernel of the model has two parts.
    TypeError: If the aggregator is not weighted.
  """
  if aggregator is None:
    aggregator = aggregators.build_mean()
  if not isinstance(aggregator, tff.aggregators.WeightedAggregationFactory):
    raise TypeError(
      'FedMatch needs a weighted aggregator, found'
      f' {type(aggregator).__name__}.'
    )
  weights_type = classifier.weights_type
  mean = aggregators.create(aggregator, weights_type.trainable)
  server = _build_server_work(classifier, hyperparameters)
  client = _build_client_work(
    classifier, hyperparameters, strong_augmentation=strong_augmentation
  )

  @tff.tensorflow.computation
  def initial_values():
    return (
      tf.nest.map_structure(tf.constant, classifier.initial_weights),
      tf.constant(0, tf.int32),
      tf.constant(hyperparameters.seed, tf.int32),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, round_num, seed = tff.federated_eval(initial_values, tff.SERVER)
    return tff.federated_zip(
      FedMatchState(weights, mean.initialize(), round_num, seed)
    )

  begin_round = round_context.build_beginning(
    lambda _: tf.constant(hyperparameters.learning_rate)
  )
  aggregator_state_type = mean.initialize.type_signature.result.member

  @tff.tensorflow.computation(
    np.float32,
    weights_type,
    weights_type.trainable,
    aggregator_state_type,
    aggregator_state_type,
  )
  def apply_update(
    num_participating: tf.Tensor,
    weights: functional.ModelWeights,
    update: Any,
    new_aggregator: Any,
    old_aggregator: Any,
  ):
    """Leaves weights and aggregator as they are if no client counts."""
    counts = num_participating > 0.0
    trainable = tuple(
      tf.where(counts, weight - change, weight)
      for weight, change in zip(weights.trainable, update, strict=True)
    )
    return (
      functional.ModelWeights(trainable, weights.non_trainable),
      tf.nest.map_structure(
        lambda new, old: tf.where(counts, new, old),
        new_aggregator,
        old_aggregator,
      ),
    )

  def run_round(state, server_data, client_data, helpers):
    context, next_round_num = tff.federated_map(
      begin_round, (state.seed, state.round_num)
    )
    # The server trains sigma, beginning afresh,
    tuned = server.next(
      server.initialize(), state.global_model_weights, context, server_data
    )
    # then clients train phi, some of them with helpers.
    received = tff.federated_broadcast(
      tff.federated_zip((tuned.result, context))
    )
    trained = client.next(client.initialize(), received, client_data, helpers)
    aggregated = mean.next(
      state.aggregator, trained.result.update, trained.result.update_weight
    )
    weights, aggregator_state = tff.federated_map(
      apply_update,
      (
        tff.federated_sum(trained.result.update_weight),
        tuned.result,
        aggregated.result,
        aggregated.state,
        state.aggregator,
      ),
    )
    return federated_process.RoundOutput(
      state=tff.federated_zip(
        FedMatchState(
          global_model_weights=weights,
          aggregator=aggregator_state,
          round_num=next_round_num,
          seed=state.seed,
        )
      ),
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=trained.measurements,
          server=tuned.measurements,
          aggregator=aggregated.measurements,
          learning_rate=context.learning_rate,
        )
      ),
      memories=trained.result.memory,
      given_labels=trained.result.given_labels,
    )

  return federated_process.build_federated_process(
    initialize_fn,
    run_round,
    server_data_type=server.next.type_signature.parameter[3],
    client_data_type=client.next.type_signature.parameter[2],
    initialize_memory=client.initialize_memory,
  )


def _build_server_work(
  classifier: functional.ImageClassifier,
  hyperparameters: FedMatchHyperparameters,
) -> server_work.ServerWorkProcess:
  """Builds training of sigma; nothing is kept from round to round."""
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
  optimizer = optimizers.restrict(
    tff.learning.optimizers.build_sgdm(hyperparameters.learning_rate),
    parts.sigma,
  )
  return server_work.build_server_work(
    classifier,
    fedmatch_training.build_server_training(
      classifier,
      optimizer=optimizer,
      num_epochs=hyperparameters.server_epochs,
      batch_size=hyperparameters.server_batch_size,
      loss_weight=hyperparameters.supervised_loss_weight,
    ),
    optimizer=optimizer,
    keep_optimizer_state=False,
  )


def _build_client_work(
  classifier: functional.ImageClassifier,
  hyperparameters: FedMatchHyperparameters,
  *,
  strong_augmentation: augmentation.Augmentation,
) -> client_work_process.ClientWorkProcess:
  """Builds training of phi."""
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
  optimizer = optimizers.restrict(
    tff.learning.optimizers.build_sgdm(hyperparameters.learning_rate),
    parts.phi,
  )
  return fedmatch_client_work.build_fedmatch_client_work(
    classifier,
    fedmatch_training.build_client_training(
      classifier,
      strong_augmentation=strong_augmentation,
      optimizer=optimizer,
      num_epochs=hyperparameters.client_epochs,
      batch_size=hyperparameters.client_batch_size,
      confidence_threshold=hyperparameters.confidence_threshold,
      loss_weights=hyperparameters.client_loss_weights,
    ),
    optimizer=optimizer,
    max_update_norm_ratio=hyperparameters.max_update_norm_ratio,
    seed=hyperparameters.seed,
    return_given_labels=hyperparameters.return_given_labels,
  )
