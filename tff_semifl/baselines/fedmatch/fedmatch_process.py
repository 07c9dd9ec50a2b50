# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch with labels at the server, in its authors' version.

The authors' program divides the learning rate by three after 20 validations
without improvement. That is left out: it needs labeled images at the clients.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021. https://arxiv.org/abs/2006.12097
"""

import collections
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.aggregation import aggregators
from tff_semifl.core import federated_process
from tff_semifl.core import round_context
from tff_semifl.core import server_work
from tff_semifl.models import functional
from tff_semifl.training import client_work_process


class FedMatchState(NamedTuple):
  """State of the FedMatch process.

  Attributes:
    global_model_weights: sigma and phi, as `tff.learning.models.ModelWeights`.
    round_num: int32, the number of the next round.
  """

  global_model_weights: Any
  aggregator: Any
  round_num: Any
  seed: Any


def compose_fedmatch_process(
  classifier: functional.ImageClassifier,
  server: server_work.ServerWorkProcess,
  client: client_work_process.ClientWorkProcess,
  aggregator: tff.aggregators.AggregationFactory,
  *,
  learning_rate: float,
  seed: int,
) -> federated_process.FederatedProcess:
  """Composes FedMatch, in which models of other clients help a client.

      sigma, phi ──> server_work ──> broadcast ──> client_work ──> mean ──> phi
                          ^                          ^      ^ │
                     server_data            client_data     │ └─> ClientModel
                                                         helpers

  In each round the server trains sigma, then clients train phi, and the mean of
  the clients' phi is the new phi. Evaluation leaves out small values of phi.
  Round 0 has no clients, so that the server trains once more than in the
  authors' code.

  The memory of a client is phi of its helpers before a round, and a
  `ClientModel` after it. The program that runs the process chooses helpers
  (`helpers.Helpers`). Models travel from client to client, so that neither
  secure aggregation nor noise can hide them. Kernels of the model have two
  parts, as in `create_fedmatch_resnet`. `server` trains sigma and `client` phi;
  `aggregator` is a weighted factory.

  Returns:
    A process with the metrics `client`, `server`, `aggregator` and
    `learning_rate`, as in `round_process.build_process`.

  Raises:
    TypeError: If the aggregator is not weighted.
  """
  if not isinstance(aggregator, tff.aggregators.WeightedAggregationFactory):
    raise TypeError(
      'FedMatch needs a weighted aggregator, found'
      f' {type(aggregator).__name__}.'
    )
  weights_type = classifier.weights_type
  mean = aggregators.create(aggregator, weights_type.trainable)

  @tff.tensorflow.computation
  def initial_values():
    return (
      tf.nest.map_structure(tf.constant, classifier.initial_weights),
      tf.constant(0, tf.int32),
      tf.constant(seed, tf.int32),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, round_num, seed = tff.federated_eval(initial_values, tff.SERVER)
    return tff.federated_zip(
      FedMatchState(weights, mean.initialize(), round_num, seed)
    )

  begin_round = round_context.build_beginning(
    lambda _: tf.constant(learning_rate)
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
    """Subtracts the mean update; changes nothing if no client counts."""
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
    # The server trains sigma, with a fresh optimizer state in each round,
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
