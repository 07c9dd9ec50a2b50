# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The components that rounds of server and clients are composed of.

They correspond to those of `tff.learning.templates.compose_learning_process`,
with labels at the server and none at the clients. `alternating`, `parallel` and
`gradient_rounds` compose a round of them. The server's data are an argument of
a round; `learning_process.bind_server_data` turns such a process into a
`tff.learning.templates.LearningProcess`.
"""

import collections
from collections.abc import Callable
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.core import guidance as guidance_lib
from tff_semifl.core import round_context
from tff_semifl.core import server_work as server_work_lib
from tff_semifl.models import functional
from tff_semifl.training import client_work_process


class RoundState(NamedTuple):
  """State of a process of server and clients, with TFF's attributes first.

  Attributes:
    global_model_weights: The server's `tff.learning.models.ModelWeights`.
    finalizer: State of the finalizer, such as the global momentum.
    server_work: State of the server work, such as its optimizer's momentum.
    round_num: int32, the number of the next round.
    guidance: State of the guidance; () without one.
  """

  global_model_weights: Any
  distributor: Any
  client_work: Any
  aggregator: Any
  finalizer: Any
  server_work: Any
  round_num: Any
  seed: Any
  guidance: Any = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundParts:
  """The components of a process of server and clients.

  Attributes:
    learning_rate_fn: Round -> learning rate of server and clients.
    client_work: Takes `<model weights, RoundContext>` and client data.
    aggregator: Aggregates the updates; if weighted, by weights of at least 0.
    batch_norm_statistics: The computation `(<W@SERVER, L*@SERVER> ->
      W@SERVER)`, or None for models without static batch normalization.
    guidance: State that the server keeps and broadcasts, or None.
  """

  initial_weights: functional.ModelWeights
  seed: int
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor]
  distributor: tff.learning.templates.DistributionProcess
  client_work: client_work_process.ClientWorkProcess
  aggregator: tff.templates.AggregationProcess
  finalizer: tff.learning.templates.FinalizerProcess
  server_work: server_work_lib.ServerWorkProcess
  batch_norm_statistics: tff.Computation | None
  guidance: guidance_lib.Guidance | None = None

  @property
  def weights_type(self) -> tff.Type:
    """The type of model weights."""
    return self.distributor.next.type_signature.parameter[1].member

  @property
  def reports_beside_updates(self) -> bool:
    """Whether clients report anything to `Guidance.update`."""
    _, result, _ = self.client_work.next.type_signature.result
    return bool(tff.structure.flatten(result.member.report))

  def counts(self, round_num: tf.Tensor, num_counting: tf.Tensor) -> tf.Tensor:
    """Whether the clients' aggregate is used, a bool scalar.

    It is used if any client counts, but not in round 0, in which the server
    trains alone: an untrained model has no useful pseudo-labels. `round_num` is
    an int32 scalar, `num_counting` a float32 scalar, the clients that count.
    """
    return tf.logical_and(round_num > 0, num_counting > 0)

  def num_counting(self, trained: tff.Value) -> tff.Value:
    """The number of clients whose update counts, float32 at SERVER.

    With an unweighted aggregator these are all clients of the cohort, with an
    update of zero if they have none. Called inside a federated computation.
    """
    if self.aggregator.is_weighted:
      return trained.measurements.num_participating
    return tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS))

  def build_choice(self, value_type: tff.Type) -> tff.Computation:
    """Builds (<round, number that counts, new V, old V> -> V).

    The result is the new value if the clients' aggregate is used, else the old.
    """

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
    """Aggregates the clients' updates, inside a federated computation."""
    weights = (trained.update_weight,) if self.aggregator.is_weighted else ()
    return self.aggregator.next(state, trained.update, *weights)

  def begin_round(self, state: tff.Value) -> tff.Value:
    """The `Beginning` of a round, at SERVER, inside a federated computation."""
    begin = round_context.build_beginning(self.learning_rate_fn)
    return tff.federated_map(begin, (state.seed, state.round_num))

  def send(
    self, state: tff.Value, context: tff.Value, server_data: tff.Value
  ) -> tff.templates.MeasuredProcessOutput:
    """Sends clients the model, the context and guidance, if there is any.

    The output is the distributor's; its result is what the client work takes.
    """
    sent = self.distributor.next(state.distributor, state.global_model_weights)
    if self.guidance is not None:
      context = tff.federated_map(
        self.guidance.build_tell(
          self.weights_type, server_data.type_signature.member
        ),
        (state.guidance, state.global_model_weights, server_data, context),
      )
    received = tff.federated_zip(
      (sent.result, tff.federated_broadcast(context))
    )
    return tff.templates.MeasuredProcessOutput(
      sent.state, received, sent.measurements
    )

  def update_guidance(
    self,
    state: tff.Value,
    context: tff.Value,
    weights: tff.Value,
    trained: tff.Value,
  ) -> tff.Value:
    """The state of the guidance after a round."""
    if self.guidance is None:
      return state.guidance
    reports = tff.federated_sum(trained.result.report)
    return tff.federated_map(
      self.guidance.build_update(
        self.weights_type, reports.type_signature.member
      ),
      (state.guidance, context, weights, reports),
    )

  def with_statistics(
    self, weights: tff.Value, server_data: tff.Value
  ) -> tff.Value:
    """Recomputes batch normalization statistics, if the model has any."""
    if self.batch_norm_statistics is None:
      return weights
    return self.batch_norm_statistics(weights, server_data)


class ServerResult(NamedTuple):
  """What the server makes of the clients' aggregate, at SERVER.

  Attributes:
    weights: The model, before its batch normalization statistics.
    aggregator: The aggregator's state after the round, maybe that before it.
    finalizer: The finalizer's state after the round, maybe that before it.
    trained: The output of the server work.
  """

  weights: tff.Value
  aggregator: tff.Value
  finalizer: tff.Value
  trained: tff.Value


# (state, round context, server data, the aggregator's output, number of clients
# that count) -> `ServerResult`, inside a federated computation.
CombineFn = Callable[..., ServerResult]


def build_process(
  parts: RoundParts, combine: CombineFn
) -> federated_process.FederatedProcess:
  """Builds a process in which clients train, and the server combines.

  Args:
    parts: The components of the process.
    combine: What the server does with the clients' aggregate. If no client
      counts, or in round 0, the aggregate must not be used.

  Returns:
    A process whose state is a `RoundState` and whose metrics are `client`,
    `server`, `aggregator` (the measurements of these components) and
    `learning_rate`. Memories are those of the client work.
  """

  def run_round(state, server_data, client_data, *memories):
    begun = parts.begin_round(state)
    sent = parts.send(state, begun.context, server_data)
    trained = parts.client_work.next(
      state.client_work, sent.result, client_data, *memories
    )
    aggregated = parts.aggregate(state.aggregator, trained.result)
    server = combine(
      state,
      begun.context,
      server_data,
      aggregated,
      parts.num_counting(trained),
    )
    weights = parts.with_statistics(server.weights, server_data)
    return federated_process.RoundOutput(
      state=tff.federated_zip(
        RoundState(
          global_model_weights=weights,
          distributor=sent.state,
          client_work=trained.state,
          aggregator=server.aggregator,
          finalizer=server.finalizer,
          server_work=server.trained.state,
          round_num=begun.next_round_num,
          seed=state.seed,
          guidance=parts.update_guidance(
            state, begun.context, weights, trained
          ),
        )
      ),
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=trained.measurements,
          server=server.trained.measurements,
          aggregator=aggregated.measurements,
          learning_rate=begun.context.learning_rate,
        )
      ),
      memories=trained.result.memory,
      given_labels=trained.result.given_labels,
    )

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
        client_work=parts.client_work.initialize(),
        aggregator=parts.aggregator.initialize(),
        finalizer=parts.finalizer.initialize(),
        server_work=parts.server_work.initialize(),
        round_num=round_num,
        seed=base_seed,
        guidance=tff.federated_value((), tff.SERVER)
        if parts.guidance is None
        else tff.federated_eval(parts.guidance.build_initialize(), tff.SERVER),
      )
    )

  return federated_process.build_federated_process(
    initialize_fn,
    run_round,
    server_data_type=parts.server_work.next.type_signature.parameter[3],
    client_data_type=parts.client_work.next.type_signature.parameter[2],
    initialize_memory=parts.client_work.initialize_memory,
  )
