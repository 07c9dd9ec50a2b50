# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What rounds of server and clients have in common, however they are joined.

What `tff.learning.templates.compose_learning_process` is to federated
averaging, this is to training with labels at the server and none at clients:
it puts the parts in order and nothing else. The server has data of its own, so
a round takes three arguments and the process is a plain
`tff.templates.IterativeProcess`; `learning_process.bind_server_data` makes a
`tff.learning.templates.LearningProcess` of it.
"""

import collections
from collections.abc import Callable
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import labeled_outputs
from tff_semifl.algorithms import stateful_process
from tff_semifl.models import functional
from tff_semifl.work import given_labels
from tff_semifl.work import round_context
from tff_semifl.work import server_work as server_work_lib
from tff_semifl.work import stateful_client_work


class RoundState(NamedTuple):
  """State of a process of server and clients; TFF's slots first.

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundParts:
  """What a process of server and clients is made of.

  Attributes:
    initial_weights: Arrays to start from.
    seed: The run's seed.
    learning_rate_fn: Round -> learning rate of server and clients.
    distributor: Brings model weights to clients.
    client_work: Takes `<model weights, RoundContext>` and client data.
    aggregator: Takes updates and, if it is weighted, weights, which are 0 or
      1.
    finalizer: Applies the aggregated update.
    server_work: Trains on the server's data.
    batch_norm_statistics: `(<W@SERVER, L*@SERVER> -> W@SERVER)`, or None for
      models that have no static batch normalisation.
  """

  initial_weights: functional.ModelWeights
  seed: int
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor]
  distributor: tff.learning.templates.DistributionProcess
  client_work: (
    tff.learning.templates.ClientWorkProcess
    | stateful_client_work.StatefulClientWorkProcess
    | tff.templates.MeasuredProcess
  )
  aggregator: tff.templates.AggregationProcess
  finalizer: tff.learning.templates.FinalizerProcess
  server_work: server_work_lib.ServerWorkProcess
  batch_norm_statistics: tff.Computation | None

  @property
  def weights_type(self) -> tff.Type:
    """The type of model weights."""
    return self.distributor.next.type_signature.parameter[1].member

  def counts(self, round_num: tf.Tensor, num_counting: tf.Tensor) -> tf.Tensor:
    """Returns whether the clients' aggregate is worth anything: bool scalar.

    It is if any client counts. Round 0 is of the server alone (D1): an
    untrained model has nothing to say of images.

    Args:
      round_num: int32 scalar.
      num_counting: float32 scalar, from `num_counting`.
    """
    return tf.logical_and(round_num > 0, num_counting > 0)

  def num_counting(self, trained: tff.Value) -> tff.Value:
    """Counts clients with an update, inside a federated computation.

    With an unweighted aggregator all clients of the round count, those without
    an update with zero.
    """
    if self.aggregator.is_weighted:
      return tff.federated_sum(trained.update_weight)
    return tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS))

  def build_choice(self, value_type: tff.Type) -> tff.Computation:
    """Builds (round, who counts, new, old) -> new if anybody does, else old."""

    @tff.tensorflow.computation(np.int32, np.float32, value_type, value_type)
    def choose(
      round_num: tf.Tensor, num_counting: tf.Tensor, new: Any, old: Any
    ):
      counts = self.counts(round_num, num_counting)
      return tf.nest.map_structure(
        lambda new, old: tf.where(counts, new, old), new, old
      )

    return choose

  def aggregate(self, state: tff.Value, trained: tff.Value) -> tff.Value:
    """Aggregates the updates of a round, inside a federated computation."""
    weights = (trained.update_weight,) if self.aggregator.is_weighted else ()
    return self.aggregator.next(state, trained.update, *weights)


class JoinedRound(NamedTuple):
  """What server and clients did together; values at SERVER.

  Attributes:
    weights: New model weights.
    aggregator: The aggregator's state.
    finalizer: The finalizer's state.
    server_work: The server work's state.
    server_metrics: Measurements of the server work.
    aggregator_metrics: Measurements of the aggregator.
  """

  weights: Any
  aggregator: Any
  finalizer: Any
  server_work: Any
  server_metrics: Any
  aggregator_metrics: Any


# (state, round context, server data, results of clients) -> joined, all of it
# values inside a federated computation.
JoinFn = Callable[[Any, tff.Value, tff.Value, tff.Value], JoinedRound]


def compose_process(
  parts: RoundParts, join: JoinFn
) -> tff.templates.IterativeProcess:
  """Composes a process of server and clients.

  With S for `RoundState`, L for chunks of labelled images, U for chunks of a
  client's images and M for metrics:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER>)

  M has `client`, `server` and `aggregator`, the measurements of those parts,
  and `learning_rate`.

  With a `StatefulClientWorkProcess` it is a `StatefulProcess`, with C for the
  state of a client:

      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS,
              client_states={C}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, client_states={C}@CLIENTS>)

  If the client work returns `GivenLabels`, so does `next`, after everything
  else.

  Args:
    parts: What it is made of.
    join: Makes new weights of what clients trained and of what the server
      does.
  """
  client_work = parts.client_work
  has_labels = given_labels.are_returned_by(client_work)

  @tff.tensorflow.computation
  def initial_values():
    return (
      tf.nest.map_structure(tf.constant, parts.initial_weights),
      tf.constant(0, tf.int32),
      tf.constant(parts.seed, tf.int32),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, round_num, base_seed = tff.federated_eval(
      initial_values, tff.SERVER
    )
    return tff.federated_zip(
      RoundState(
        global_model_weights=weights,
        distributor=parts.distributor.initialize(),
        client_work=client_work.initialize(),
        aggregator=parts.aggregator.initialize(),
        finalizer=parts.finalizer.initialize(),
        server_work=parts.server_work.initialize(),
        round_num=round_num,
        seed=base_seed,
      )
    )

  @tff.tensorflow.computation(np.int32, np.int32)
  def create_context(base_seed: tf.Tensor, round_num: tf.Tensor):
    return round_context.RoundContext(
      base_seed, round_num, parts.learning_rate_fn(round_num)
    )

  @tff.tensorflow.computation(np.int32)
  def increment(round_num: tf.Tensor):
    return round_num + 1

  def run_round(state, server_data, *client_arguments):
    context = tff.federated_map(create_context, (state.seed, state.round_num))
    distributed = parts.distributor.next(
      state.distributor, state.global_model_weights
    )
    received = tff.federated_zip(
      (distributed.result, tff.federated_broadcast(context))
    )
    trained = client_work.next(state.client_work, received, *client_arguments)
    joined = join(state, context, server_data, trained.result)
    weights = joined.weights
    if parts.batch_norm_statistics is not None:
      weights = parts.batch_norm_statistics(weights, server_data)
    state = RoundState(
      global_model_weights=weights,
      distributor=distributed.state,
      client_work=trained.state,
      aggregator=joined.aggregator,
      finalizer=joined.finalizer,
      server_work=joined.server_work,
      round_num=tff.federated_map(increment, state.round_num),
      seed=state.seed,
    )
    metrics = collections.OrderedDict(
      client=trained.measurements,
      server=joined.server_metrics,
      aggregator=joined.aggregator_metrics,
      learning_rate=context.learning_rate,
    )
    output = tff.learning.templates.LearningProcessOutput(
      tff.federated_zip(state), tff.federated_zip(metrics)
    )
    return output, trained.result

  state_type = initialize_fn.type_signature.result
  server_data_type = parts.server_work.next.type_signature.parameter[3]
  client_data_type = client_work.next.type_signature.parameter[2]
  if not isinstance(
    client_work, stateful_client_work.StatefulClientWorkProcess
  ):

    @tff.federated_computation(state_type, server_data_type, client_data_type)
    def next_fn(state, server_data, client_data):
      output, result = run_round(state, server_data, client_data)
      if has_labels:
        return labeled_outputs.add_labels(output, result.given_labels)
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
    output = stateful_process.StatefulOutput(
      output.state, output.metrics, result.client_state
    )
    if has_labels:
      return labeled_outputs.add_labels(output, result.given_labels)
    return output

  return stateful_process.StatefulProcess(
    initialize_fn, stateful_next_fn, client_work.initialize_client_state
  )
