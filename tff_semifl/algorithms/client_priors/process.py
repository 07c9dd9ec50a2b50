# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client priors on features, as a TFF process.

In round 0 the server fits its labels alone. Before the first round with
clients, sums of all clients give principal components. In a round, clients of a
cohort send means over their examples, and the server updates its estimate.
"""

import collections
from collections.abc import Mapping
import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import client_sums
from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import held_out
from tff_semifl.algorithms.client_priors import labels_alone
from tff_semifl.algorithms.client_priors import linear_head
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state as state_lib
from tff_semifl.core import federated_process
from tff_semifl.core import pseudo_labels
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators


def summarize(
  measured: client_sums.Measurements,
  num_clients: tf.Tensor,
  estimate: state_lib.Estimate,
  chosen: choice.Choice,
) -> tuple[Mapping[str, tf.Tensor], Mapping[str, tf.Tensor], tf.Tensor]:
  """The metrics of clients and of the server, and the learning rate, NaN.

  Args:
    measured: The sums of all clients of the round.
    num_clients: float32 scalar, the number of clients of the round.
    estimate: The server's estimate after the round.
    chosen: The choice of a classifier after the round.
  """
  nothing = tf.constant(float('nan'))
  averages = estimate.averages

  def of_first(values: tf.Tensor) -> tf.Tensor:
    return tf.where(measured.count > 0, tf.cast(values[0], tf.float32), nothing)

  # Before the first step only the labels alone are there.
  is_there = (tf.range(len(held_out.CANDIDATES)) < 1) | (estimate.passes > 0)
  num_right, likelihood = (
    tf.where(is_there, tf.cast(each, tf.float32), nothing)
    for each in (chosen.scores.num_right, chosen.scores.likelihood)
  )
  client = collections.OrderedDict(
    loss=measured.loss / measured.count,
    accuracy=measured.num_agreed / measured.count,
    label_ratio=measured.count / measured.count,
    num_participating=num_clients - measured.num_rejected,
    num_rejected=measured.num_rejected,
    weight_diversity=nothing,
    relative_weight_diversity=nothing,
    # How much likelier own class shares make an example, and how clients
    # differ: small strength, different clients.
    evidence=of_first(averages.evidence),
    strength=tf.cast(estimate.strength[0], tf.float32),
    spread=tf.cast(estimate.spread[0], tf.float32),
    server_spread=tf.cast(chosen.server_spread, tf.float32),
    objective=of_first(averages.objective),
    kept=tf.cast(chosen.kept, tf.float32),
    temperature=tf.cast(chosen.temperature, tf.float32),
    has_examples=tf.cast(chosen.has_examples, tf.float32),
    held_out=tf.cast(chosen.scores.num_held_out, tf.float32),
    **{
      f'right_{name}': num_right[i]
      for i, name in enumerate(held_out.CANDIDATES)
    },
    **{
      f'likelihood_{name}': likelihood[i]
      for i, name in enumerate(held_out.CANDIDATES)
    },
  )
  server = collections.OrderedDict(loss=nothing, accuracy=nothing)
  return client, server, nothing


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Server:
  """The computations of the server; for its fields see `build`."""

  head: linear_head.LinearHead
  clients_per_round: int | None
  keep: str

  def begin(
    self,
    estimate: state_lib.Estimate,
    components: components_lib.Components,
    dataset: tf.data.Dataset,
  ) -> tuple[state_lib.Estimate, client_sums.Received]:
    """The estimate, begun if it was not, and what clients receive."""
    _, labels = self._read_labels(dataset, components)
    begun = tf.cond(
      (estimate.passes > 0) | tf.equal(components.count, 0),
      lambda: estimate,
      lambda: server_steps.begin(estimate, labels),
    )
    return begun, server_steps.receive(begun, components)

  def fit_in_round_0(
    self, round_num: tf.Tensor, alone: labels_alone.Fitted, dataset
  ) -> labels_alone.Fitted:
    """Fits the labels alone in round 0; later rounds keep the result."""

    def fit() -> labels_alone.Fitted:
      x, targets = self.head.read_labels(dataset)
      return labels_alone.fit(tf.cast(x, tf.float64), targets)

    return tf.cond(tf.equal(round_num, 0), fit, lambda: alone)

  def learn(
    self,
    state: state_lib.State,
    new_aggregator: Any,
    means: client_sums.Means,
    measured: client_sums.Measurements,
    num_present: tf.Tensor,
    dataset: tf.data.Dataset,
  ) -> tuple[state_lib.State, Any]:
    """The state after a round, and its metrics."""
    components = state.components
    raw, labels = self._read_labels(dataset, components)
    added = server_steps.add(
      state.estimate,
      tf.nest.map_structure(lambda a: tf.cast(a, tf.float64), means),
      tf.cast(measured.count, tf.float64),
    )
    learned = tf.cond(
      self._ends_pass(state) & (components.count > 0),
      lambda: server_steps.learn(added, components, labels),
      lambda: added,
    )
    chosen = choice.choose(
      state.alone, components, learned, raw, labels, self.keep
    )
    after = state._replace(
      global_model_weights=self.head.to_weights(chosen.weights),
      # Without clients, estimates of an aggregator would become NaN.
      aggregator=tf.nest.map_structure(
        lambda old, new: tf.where(num_present > 0, new, old),
        state.aggregator,
        new_aggregator,
      ),
      round_num=state.round_num + 1,
      kept=chosen.kept,
      estimate=learned,
    )
    return after, summarize(measured, num_present, learned, chosen)

  def _read_labels(
    self, dataset: tf.data.Dataset, components: components_lib.Components
  ) -> tuple[tf.Tensor, held_out.Labels]:
    raw, targets = self.head.read_labels(dataset)
    return tf.cast(raw, tf.float64), held_out.Labels(
      components_lib.project(raw, components),
      targets,
      held_out.weigh(targets),
    )

  def _ends_pass(self, state: state_lib.State) -> tf.Tensor:
    """Whether all clients have taken part since the last step."""
    rounds_per_pass = 1
    if self.clients_per_round is not None:
      rounds_per_pass = tf.maximum(
        tf.cast(
          tf.math.ceil(state.num_clients / self.clients_per_round), tf.int32
        ),
        1,
      )
    return tf.equal(tf.math.floormod(state.round_num, rounds_per_pass), 0)


def build(
  classifier: functional.ImageClassifier,
  aggregator: tff.aggregators.AggregationFactory,
  *,
  returns_given_labels: bool = False,
  clients_per_round: int | None = None,
  keep: str = choice.CHOSEN,
) -> federated_process.FederatedProcess:
  """Builds the process.

  Args:
    classifier: A linear model; see `linear_head`.
    aggregator: Combines what clients send. If it is weighted, a client weighs
      as much as it has examples.
    returns_given_labels: Whether to return the most probable class of each
      example.
    clients_per_round: Clients of a round. All clients take part, one cohort
      after the other, before the server takes a step. None for all of them at
      once.
    keep: `choice.CHOSEN`, or the classifier of `held_out.CANDIDATES` to keep.

  Returns:
    A process with the types and metrics of other systems, whose `prepare` finds
    the components.
  """
  head = linear_head.LinearHead(classifier)
  server = _Server(head=head, clients_per_round=clients_per_round, keep=keep)
  server_type = pipelines.labeled_type(classifier.image_shape)
  client_type = pipelines.client_type(classifier.image_shape)
  initial_values = state_lib.build_initial_values(classifier, head)
  types = state_lib.State(*initial_values.type_signature.result)
  begin = tff.tensorflow.computation(
    server.begin, [types.estimate, types.components, server_type]
  )

  @tff.tensorflow.computation(client_type, begin.type_signature.result[1])
  def work(dataset, received):
    means, measured, labels = client_sums.compute(head.read(dataset), received)
    given = ()
    if returns_given_labels:
      given = pseudo_labels.GivenLabels(
        tf.range(tf.size(labels)), labels, tf.ones_like(labels, tf.float32)
      )
    return means, measured, given

  means_type, measured_type, _ = work.type_signature.result
  aggregation = aggregators.create(aggregator, means_type)
  aggregator_type = aggregation.initialize.type_signature.result.member
  fit_in_round_0 = tff.tensorflow.computation(
    server.fit_in_round_0, [types.round_num, types.alone, server_type]
  )
  learn = tff.tensorflow.computation(
    server.learn,
    [
      types._replace(aggregator=aggregator_type),
      aggregator_type,
      means_type,
      measured_type,
      np.float32,
      server_type,
    ],
  )

  @tff.federated_computation
  def initialize_fn():
    values = tff.federated_eval(initial_values, tff.SERVER)
    return _replace(values, aggregator=aggregation.initialize())

  find_components = components_lib.build_search(
    head, server_type, client_type, types.alone
  )

  def prepare(state, server_data, client_data):
    return _replace(
      state,
      num_clients=tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS)),
      components=find_components(state.alone, server_data, client_data),
    )

  def run_round(state, server_data, client_data):
    estimate, received = tff.federated_map(
      begin, (state.estimate, state.components, server_data)
    )
    means, measured, given = tff.federated_map(
      work, (client_data, tff.federated_broadcast(received))
    )
    arguments = (means,)
    if aggregation.is_weighted:
      arguments += (measured.count,)
    aggregated = aggregation.next(state.aggregator, *arguments)
    alone = tff.federated_map(
      fit_in_round_0, (state.round_num, state.alone, server_data)
    )
    after, metrics = tff.federated_map(
      learn,
      (
        _replace(state, alone=alone, estimate=estimate),
        aggregated.state,
        aggregated.result,
        tff.federated_sum(measured),
        tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS)),
        server_data,
      ),
    )
    return federated_process.RoundOutput(
      state=after,
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=metrics[0],
          server=metrics[1],
          aggregator=aggregated.measurements,
          learning_rate=metrics[2],
        )
      ),
      given_labels=given,
    )

  return federated_process.build_federated_process(
    initialize_fn,
    run_round,
    server_data_type=tff.FederatedType(server_type, tff.SERVER),
    client_data_type=tff.FederatedType(client_type, tff.CLIENTS),
    prepare=prepare,
  )


def _replace(state: tff.Value, **changes: tff.Value) -> tff.Value:
  """A state at the server with some of its fields changed."""
  fields = {
    name: changes.get(name, getattr(state, name))
    for name in state_lib.State._fields
  }
  return tff.federated_zip(state_lib.State(**fields))
