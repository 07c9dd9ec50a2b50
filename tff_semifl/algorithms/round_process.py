# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What rounds of server and clients are made of, however they are joined.

What the parts of `tff.learning.templates.compose_learning_process` are to
federated averaging, these are to training with labels at the server and none at
clients. In `alternating`, `parallel` and `fedsgd_fixmatch` a round is put
together from them, each in one function. The server has data of its own, which
are an argument of a round; `learning_process.bind_server_data` makes a
`tff.learning.templates.LearningProcess` of the result.
"""

from collections.abc import Callable
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import federated_process
from tff_semifl.models import functional
from tff_semifl.work import client_work_process
from tff_semifl.work import guidance as guidance_lib
from tff_semifl.work import server_work as server_work_lib


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
    guidance: State of the guidance, if there is any.
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
  """What a process of server and clients is made of.

  Attributes:
    initial_weights: Arrays to start from.
    seed: The run's seed.
    learning_rate_fn: Round -> learning rate of server and clients.
    distributor: Brings model weights to clients.
    client_work: Takes `<model weights, RoundContext>` and client data.
    aggregator: Takes updates and, if it is weighted, weights, at least 0.
    finalizer: Applies the aggregated update.
    server_work: Trains on the server's data.
    batch_norm_statistics: `(<W@SERVER, L*@SERVER> -> W@SERVER)`, or None for
      models that have no static batch normalisation.
    guidance: What else the server keeps and tells clients, or None.
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
    if not self.aggregator.is_weighted:
      return tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS))

    @tff.tensorflow.computation(np.float32)
    def count(weight: tf.Tensor):
      return tf.cast(weight > 0, tf.float32)

    return tff.federated_sum(tff.federated_map(count, trained.update_weight))

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

  def tell(self, state: tff.Value, context: tff.Value) -> tff.Value:
    """Returns the round's context with guidance, if there is any.

    It is called inside a federated computation, as what follows is.
    """
    if self.guidance is None:
      return context
    return tff.federated_map(
      self.guidance.build_tell(self.weights_type),
      (state.guidance, state.global_model_weights, context),
    )

  def update_guidance(
    self,
    state: tff.Value,
    context: tff.Value,
    weights: tff.Value,
    trained: tff.Value,
  ) -> tff.Value:
    """Returns the state of the guidance after a round."""
    if self.guidance is None:
      return state.guidance
    reports = tff.federated_sum(trained.report)
    return tff.federated_map(
      self.guidance.build_update(
        self.weights_type, reports.type_signature.member
      ),
      (state.guidance, context, weights, reports),
    )

  def with_statistics(
    self, weights: tff.Value, server_data: tff.Value
  ) -> tff.Value:
    """Returns weights with statistics of the server's images, if needed."""
    if self.batch_norm_statistics is None:
      return weights
    return self.batch_norm_statistics(weights, server_data)


def build_process(
  parts: RoundParts, run_round: Callable[..., federated_process.RoundOutput]
) -> federated_process.FederatedProcess:
  """Builds a process of server and clients.

  Args:
    parts: What it is made of.
    run_round: As in `build_federated_process`.

  Returns:
    A process with S for `RoundState`, L for chunks of labelled images and U for
    chunks of a client's images. Its metrics are `client`, `server` and
    `aggregator`, the measurements of those parts, and `learning_rate`. Memories
    are those of the client work.
  """

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
