# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Alternate training: the clients' round, then the server's, as one process.

What `tff.learning.templates.compose_learning_process` is to federated
averaging, `compose_alternating_process` is to SemiFL: it puts the pieces in
order and nothing else. The server has data of its own, so a round takes three
arguments and the process is a plain `tff.templates.IterativeProcess`; with the
data bound, it becomes a `tff.learning.templates.LearningProcess`.
"""

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import stateful_process
from tff_semifl.models import functional
from tff_semifl.work import round_context
from tff_semifl.work import server_work as server_work_lib
from tff_semifl.work import stateful_client_work


class AlternatingState(NamedTuple):
  """State of an alternating process; TFF's slots first.

  Attributes:
    global_model_weights: The server's `tff.learning.models.ModelWeights`.
    distributor: State of the distributor.
    client_work: State of the client work.
    aggregator: State of the aggregator.
    finalizer: State of the finalizer, such as the global momentum.
    server_work: State of the server work, such as its optimizer's momentum.
    round_num: int32, the round that `next` will run.
    seed: int32, the run's seed.
  """

  global_model_weights: Any
  distributor: Any
  client_work: Any
  aggregator: Any
  finalizer: Any
  server_work: Any
  round_num: Any
  seed: Any


def compose_alternating_process(
  *,
  initial_weights: functional.ModelWeights,
  seed: int,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
  distributor: tff.learning.templates.DistributionProcess,
  client_work: (
    tff.learning.templates.ClientWorkProcess
    | stateful_client_work.StatefulClientWorkProcess
  ),
  aggregator: tff.templates.AggregationProcess,
  finalizer: tff.learning.templates.FinalizerProcess,
  server_work: server_work_lib.ServerWorkProcess,
  batch_norm_statistics: tff.Computation | None,
) -> tff.templates.IterativeProcess:
  """Composes one round of alternate training (SemiFL, Algorithm 1).

      weights ─> distributor ─> client_work ─> aggregator ─> finalizer ─┐
                                     ^                                  v
                                client_data                       new weights
                                                                        │
      weights <─ batch_norm_statistics <─ server_work <─────────────────┘
                            ^                   ^
                            └─── server_data ───┘

  With S for `AlternatingState`, L for chunks of labelled images, U for chunks
  of a client's images and M for metrics:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER>)

  M has `client`, `server` and `aggregator`, the measurements of those parts,
  and `learning_rate`. If no client counts in a round, weights and the
  finalizer's state stay as they were until the server's turn (A.11): it is a
  round of the server alone. Round 0 is one in any case (D1), as the paper
  begins: an untrained model has nothing to say of images, and there are no
  batch normalisation statistics for it yet.

  With a `StatefulClientWorkProcess` it is a `StatefulProcess`, with C for the
  state of a client:

      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS,
              client_states={C}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, client_states={C}@CLIENTS>)

  Args:
    initial_weights: Arrays to start from.
    seed: The run's seed.
    learning_rate_fn: Round -> learning rate of server and clients.
    distributor: Brings model weights to clients.
    client_work: Takes `<model weights, RoundContext>` and client data.
    aggregator: Weighted: takes updates and weights, which are 0 or 1.
    finalizer: Applies the aggregated update.
    server_work: Trains on the server's data.
    batch_norm_statistics: `(<W@SERVER, L*@SERVER> -> W@SERVER)`, or None for
      models that have no static batch normalisation.
  """
  weights_type = distributor.next.type_signature.parameter[1].member
  server_data_type = server_work.next.type_signature.parameter[3].member
  client_data_type = client_work.next.type_signature.parameter[2].member

  @tff.tensorflow.computation
  def initial_values():
    return (
      tf.nest.map_structure(tf.constant, initial_weights),
      tf.constant(0, tf.int32),
      tf.constant(seed, tf.int32),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, round_num, base_seed = tff.federated_eval(
      initial_values, tff.SERVER
    )
    return tff.federated_zip(
      AlternatingState(
        global_model_weights=weights,
        distributor=distributor.initialize(),
        client_work=client_work.initialize(),
        aggregator=aggregator.initialize(),
        finalizer=finalizer.initialize(),
        server_work=server_work.initialize(),
        round_num=round_num,
        seed=base_seed,
      )
    )

  @tff.tensorflow.computation(np.int32, np.int32)
  def create_context(base_seed: tf.Tensor, round_num: tf.Tensor):
    return round_context.RoundContext(
      base_seed, round_num, learning_rate_fn(round_num)
    )

  @tff.tensorflow.computation(np.int32)
  def increment(round_num: tf.Tensor):
    return round_num + 1

  finalized_type = tff.types.to_type(
    (finalizer.initialize.type_signature.result.member, weights_type)
  )

  @tff.tensorflow.computation(
    np.int32, np.float32, finalized_type, finalized_type
  )
  def choose(
    round_num: tf.Tensor,
    num_participating: tf.Tensor,
    finalized: Any,
    unchanged: Any,
  ):
    counts = tf.logical_and(round_num > 0, num_participating > 0)
    return tf.nest.map_structure(
      lambda new, old: tf.where(counts, new, old),
      finalized,
      unchanged,
    )

  def run_round(state, server_data, *client_arguments):
    context = tff.federated_map(create_context, (state.seed, state.round_num))
    distributed = distributor.next(
      state.distributor, state.global_model_weights
    )
    received = tff.federated_zip(
      (distributed.result, tff.federated_broadcast(context))
    )
    trained = client_work.next(state.client_work, received, *client_arguments)
    aggregated = aggregator.next(
      state.aggregator, trained.result.update, trained.result.update_weight
    )
    finalized = finalizer.next(
      state.finalizer, state.global_model_weights, aggregated.result
    )
    finalizer_state, weights = tff.federated_map(
      choose,
      (
        state.round_num,
        tff.federated_sum(trained.result.update_weight),
        (finalized.state, finalized.result),
        (state.finalizer, state.global_model_weights),
      ),
    )
    tuned = server_work.next(state.server_work, weights, context, server_data)
    weights = tuned.result
    if batch_norm_statistics is not None:
      weights = batch_norm_statistics(weights, server_data)
    state = AlternatingState(
      global_model_weights=weights,
      distributor=distributed.state,
      client_work=trained.state,
      aggregator=aggregated.state,
      finalizer=finalizer_state,
      server_work=tuned.state,
      round_num=tff.federated_map(increment, state.round_num),
      seed=state.seed,
    )
    metrics = collections.OrderedDict(
      client=trained.measurements,
      server=tuned.measurements,
      aggregator=aggregated.measurements,
      learning_rate=context.learning_rate,
    )
    output = tff.learning.templates.LearningProcessOutput(
      tff.federated_zip(state), tff.federated_zip(metrics)
    )
    return output, trained.result

  state_type = initialize_fn.type_signature.result
  server_data_type = tff.FederatedType(server_data_type, tff.SERVER)
  client_data_type = tff.FederatedType(client_data_type, tff.CLIENTS)
  if not isinstance(
    client_work, stateful_client_work.StatefulClientWorkProcess
  ):

    @tff.federated_computation(state_type, server_data_type, client_data_type)
    def next_fn(state, server_data, client_data):
      output, _ = run_round(state, server_data, client_data)
      return output

    return tff.templates.IterativeProcess(initialize_fn, next_fn)

  @tff.federated_computation(
    state_type,
    server_data_type,
    client_data_type,
    client_work.next.type_signature.parameter[3],
  )
  def stateful_next_fn(state, server_data, client_data, client_states):
    output, result = run_round(state, server_data, client_data, client_states)
    return stateful_process.StatefulOutput(
      output.state, output.metrics, result.client_state
    )

  return stateful_process.StatefulProcess(
    initialize_fn, stateful_next_fn, client_work.initialize_client_state
  )


def bind_server_data(
  process: tff.templates.IterativeProcess, server_data: tff.Computation
) -> tff.learning.templates.LearningProcess:
  """Fixes the server's data, for programs that know none.

  The result fits `tff.learning.programs` and everything else that takes a
  `LearningProcess`; its metrics have the client's under `client_work/train`,
  where those look for them.

  Args:
    process: From `compose_alternating_process`.
    server_data: `( -> L*)`, the data as an unplaced computation.
  """
  state_type, _, client_data_type = process.next.type_signature.parameter
  weights_type = state_type.member.global_model_weights

  @tff.federated_computation(state_type, client_data_type)
  def next_fn(state, client_data):
    output = process.next(
      state, tff.federated_eval(server_data, tff.SERVER), client_data
    )
    metrics = output.metrics
    return tff.learning.templates.LearningProcessOutput(
      output.state,
      tff.federated_zip(
        collections.OrderedDict(
          client_work=collections.OrderedDict(train=metrics.client),
          server_work=metrics.server,
          aggregator=metrics.aggregator,
          learning_rate=metrics.learning_rate,
        )
      ),
    )

  @tff.tensorflow.computation(state_type.member)
  def get_model_weights(state: AlternatingState):
    return state.global_model_weights

  @tff.tensorflow.computation(state_type.member, weights_type)
  def set_model_weights(
    state: AlternatingState, weights: functional.ModelWeights
  ):
    return state._replace(global_model_weights=weights)

  return tff.learning.templates.LearningProcess(
    process.initialize,
    next_fn,
    get_model_weights=get_model_weights,
    set_model_weights=set_model_weights,
  )
