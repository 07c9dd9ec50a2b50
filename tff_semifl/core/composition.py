# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The steps of a round, and a process that repeats a round.

`Parts` has a method for each step. Functions such as `rounds.parallel_round`
call these methods inside a federated computation. The state and the server's
results are at SERVER; data that clients receive and return are at CLIENTS.
"""

import collections
from collections.abc import Callable, Mapping
import dataclasses
import functools
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import batch_norm_statistics
from tff_semifl.core import client_work as client_work_lib
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import server_work as server_work_lib
from tff_semifl.data import pipelines
from tff_semifl.models import functional


class RoundState(NamedTuple):
  """The state of a process at SERVER; fields without a value are ().

  `finalizer` is the state of the global optimizer, `server_work` the state of
  the server's optimizer. `guidance` has the states of the guides by name.
  `round_num`, int32, is the number of the next round.
  """

  global_model_weights: Any
  aggregator: Any
  finalizer: Any
  server_work: Any
  guidance: Any
  round_num: Any
  seed: Any


class Trained(NamedTuple):
  """The cohort's `ClientResult`s, metrics, and sums of reports if any."""

  result: tff.Value
  measurements: tff.Value
  reports: tff.Value | None


class Mean(NamedTuple):
  """The aggregate of the clients' updates.

  Attributes:
    state: The aggregator's new state; the old state if `update` is not used.
    is_used: bool, whether `update` is used; false if no client contributes, and
      in round 0, because pseudo-labels of an untrained model are useless.
    num_contributing: float32, the number of clients with an update; if the
      aggregator is unweighted, the size of the cohort.
  """

  update: tff.Value
  state: tff.Value
  measurements: tff.Value
  is_used: tff.Value
  num_contributing: tff.Value


class Tuned(NamedTuple):
  """The results of the server's training: state, weights and measurements."""

  state: tff.Value
  weights: tff.Value
  measurements: tff.Value


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parts:
  """The components of a round, with a method for each step.

  Attributes:
    learning_rate_fn: Round number -> the learning rate of server and clients.
    aggregator: Aggregates the updates; if weighted, by weights of at least 0.
    computes_statistics: Whether each round ends by computing the statistics of
      static batch normalization from the server's images.
    guides: Objects with a state at the server and messages to clients, by name.
    num_clients: The number of all clients, if known.
  """

  classifier: functional.ImageClassifier
  seed: int
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor]
  client_work: client_work_lib.ClientWork | None = None
  server_work: server_work_lib.ServerWork
  aggregator: tff.templates.AggregationProcess | Any = None
  finalizer: tff.learning.templates.FinalizerProcess | Any = None
  computes_statistics: bool = False
  guides: method.Guides = dataclasses.field(default_factory=dict)
  num_clients: int | None = None

  def begin(self, state: tff.Value) -> tff.Value:
    """The `RoundContext` of the round, without guidance."""
    return run(
      lambda seed, round_num: federated_process.RoundContext(
        seed, round_num, self.learning_rate_fn(round_num)
      ),
      state.seed,
      state.round_num,
    )

  def send(
    self, state: tff.Value, context: tff.Value, server_data: tff.Value
  ) -> tff.Value:
    """Broadcasts the model and the context, which has the guides' messages."""

    def tell(kept, weights, data, context):
      server = self._server(context, weights, data)
      return method.tell(self.guides, kept, server, context)

    if self.guides:
      context = run(
        tell, state.guidance, state.global_model_weights, server_data, context
      )
    return broadcast(state.global_model_weights, context)

  def clients(
    self,
    received: tff.Value,
    client_data: tff.Value,
    memories: tff.Value | None,
  ) -> Trained:
    """Runs the client work at each client of the cohort."""
    arguments = [received, client_data]
    if memories is not None:
      arguments.append(memories)
    result, sums = run(self.client_work.update, *arguments)
    return Trained(
      result,
      run(client_work_lib.summarize, tff.federated_sum(sums)),
      tff.federated_sum(result.report) if self.guides else None,
    )

  def mean(self, state: tff.Value, trained: Trained) -> Mean:
    """Aggregates the clients' updates."""
    result = trained.result
    if self.aggregator.is_weighted:
      number = trained.measurements.num_participating
      output = self.aggregator.next(
        state.aggregator, result.update, result.update_weight
      )
    else:
      number = tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS))
      output = self.aggregator.next(state.aggregator, result.update)
    is_used = run(
      lambda round_num, number: tf.logical_and(round_num > 0, number > 0),
      state.round_num,
      number,
    )
    return Mean(
      update=output.result,
      state=choose(is_used, output.state, state.aggregator),
      measurements=output.measurements,
      is_used=is_used,
      num_contributing=number,
    )

  def update(
    self,
    state: tff.Value,
    context: tff.Value,
    trained: Trained,
    weights: tff.Value,
    server_data: tff.Value,
  ) -> tff.Value:
    """The weights after the `update` hooks of all guides."""
    if not any(method.overrides(g, 'update') for g in self.guides.values()):
      return weights

    def update(kept, context, weights, reports, data):
      server = self._server(context, weights, data)
      return method.update_weights(self.guides, kept, reports, server)

    arguments = state.guidance, context, weights, trained.reports, server_data
    return run(update, *arguments)

  def server(
    self,
    state: tff.Value,
    weights: tff.Value,
    context: tff.Value,
    server_data: tff.Value,
    *others: tff.Value,
  ) -> Tuned:
    """Runs the server work; `others` are additional arguments."""
    arguments = state.server_work, weights, context, server_data, *others
    return Tuned(*run(self.server_work.train, *arguments))

  def with_statistics(
    self, weights: tff.Value, server_data: tff.Value
  ) -> tff.Value:
    """Recomputes batch normalization statistics, if `computes_statistics`."""
    if not self.computes_statistics or self.classifier.batch_moments is None:
      return weights
    compute = functools.partial(
      batch_norm_statistics.compute_server_statistics, self.classifier
    )
    return run(compute, weights, server_data)

  def finish(
    self,
    state: tff.Value,
    context: tff.Value,
    trained: Trained | None,
    server_data: tff.Value,
    metrics: Mapping[str, tff.Value],
    **changes: tff.Value,
  ) -> federated_process.RoundOutput:
    """The output of a round, after guides have updated their states.

    `metrics` has `server` and `aggregator`, and `client` if `trained` is None.
    `changes` are the new values of fields of the state.
    """

    def update(kept, context, weights, reports, data):
      server = self._server(context, weights, data)
      return method.update(self.guides, kept, reports, server)

    changes['round_num'] = run(lambda number: number + 1, state.round_num)
    if self.guides:
      changes['guidance'] = run(
        update,
        state.guidance,
        context,
        changes['global_model_weights'],
        trained.reports,
        server_data,
      )
    return federated_process.RoundOutput(
      state=replace(state, RoundState, **changes),
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=metrics['client'] if trained is None else trained.measurements,
          server=metrics['server'],
          aggregator=metrics['aggregator'],
          learning_rate=context.learning_rate,
        )
      ),
      memories=() if trained is None else trained.result.memory,
      given_labels=() if trained is None else trained.result.given_labels,
    )

  def initialize(self) -> tff.Value:
    """The state before round 0."""

    def initial_values():
      kept = {
        name: each.init_guidance(self.classifier)
        for name, each in self.guides.items()
      }
      return (
        tf.nest.map_structure(tf.constant, self.classifier.initial_weights),
        self.server_work.initialize(),
        kept or (),
        tf.constant(0, tf.int32),
        tf.constant(self.seed, tf.int32),
      )

    def initial_state(part):
      return part.initialize() if part else tff.federated_value((), tff.SERVER)

    weights, *others = tff.federated_eval(
      tff.tensorflow.computation(initial_values), tff.SERVER
    )
    aggregator, finalizer = map(
      initial_state, (self.aggregator, self.finalizer)
    )
    return tff.federated_zip(
      RoundState(weights, aggregator, finalizer, *others)
    )

  def _server(
    self,
    context: federated_process.RoundContext,
    weights: functional.ModelWeights,
    data: tf.data.Dataset,
  ) -> hook_arguments.Server:
    return hook_arguments.Server(
      model=self.classifier,
      seed=context.seed,
      round_num=context.round_num,
      weights=weights,
      num_clients=self.num_clients,
      data=data,
    )


def build(
  p: Parts,
  run_round: Callable[..., federated_process.RoundOutput],
  **options: Any,
) -> federated_process.FederatedProcess:
  """Builds a process; each round calls `run_round` with `p` and `options`."""
  work, shape = p.client_work, p.classifier.image_shape
  return federated_process.build_federated_process(
    tff.federated_computation(p.initialize),
    functools.partial(run_round, p, **options),
    server_data_type=pipelines.labeled_type(shape),
    client_data_type=work.data_type if work else pipelines.client_type(shape),
    initialize_memory=tff.tensorflow.computation(work.initialize_memory)
    if work and work.initialize_memory
    else None,
  )


def run(function: Callable[..., Any], *values: Any) -> tff.Value:
  """Applies TensorFlow code to values, all at SERVER or all at CLIENTS."""
  return tff.federated_map(
    tff.tensorflow.computation(function),
    values if len(values) > 1 else values[0],
  )


def replace(value: tff.Value, kind: type, **changes: tff.Value) -> tff.Value:
  """A named tuple of `kind` at SERVER with some of its fields changed."""
  return tff.federated_zip(
    kind(*(changes.get(name, getattr(value, name)) for name in kind._fields))
  )


def choose(is_new: tff.Value, new: Any, old: Any) -> tff.Value:
  """The new values if `is_new`, a bool scalar, else the old values."""
  return run(
    lambda is_new, new, old: tf.nest.map_structure(
      functools.partial(tf.where, is_new), new, old
    ),
    is_new,
    new,
    old,
  )


def broadcast(*values: tff.Value) -> tff.Value:
  """Broadcasts values of the server to all clients, as one tuple."""
  return tff.federated_zip(tuple(map(tff.federated_broadcast, values)))
