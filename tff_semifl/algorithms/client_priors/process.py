# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The TFF process of `client_priors`.

In round 0 the server fits a regression to its labels. Before round 1, sums over
all clients give principal components. In each round the clients of the cohort
send means over their examples, and the server updates its estimate.
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
from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state as state_lib
from tff_semifl.core import composition
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
  """The metrics of clients and server, and NaN as the learning rate.

  `measured` are sums over the `num_clients` clients of the round.
  """
  nothing = tf.constant(float('nan'))
  averages = estimate.averages

  def of_leader(values: tf.Tensor) -> tf.Tensor:
    value = tf.cast(values[estimate.leader], tf.float32)
    return tf.where(measured.count > 0, value, nothing)

  # Before the first step, only the classifier of the server's labels exists.
  is_there = (tf.range(len(choice.CANDIDATES)) < 1) | (estimate.passes > 0)

  def of_candidates(name: str, values: tf.Tensor) -> dict[str, tf.Tensor]:
    values = tf.where(is_there, tf.cast(values, tf.float32), nothing)
    return {f'{name}_{c}': values[i] for i, c in enumerate(choice.CANDIDATES)}

  client = collections.OrderedDict(
    loss=measured.loss / measured.count,
    accuracy=measured.num_agreed / measured.count,
    label_ratio=measured.count / measured.count,
    num_participating=num_clients - measured.num_rejected,
    num_rejected=measured.num_rejected,
    weight_diversity=nothing,
    relative_weight_diversity=nothing,
    # Evidence: the mean gain in log-likelihood of an example if each client has
    # class shares of its own.
    evidence=of_leader(averages.evidence),
    strength=tf.cast(estimate.strength[estimate.leader], tf.float32),
    spread=tf.cast(estimate.spread[0], tf.float32),
    server_spread=tf.cast(chosen.server_spread, tf.float32),
    share_gap=tf.cast(chosen.share_gap, tf.float32),
    agreement=tf.cast(choice.measure_agreement(estimate), tf.float32),
    objective=of_leader(averages.objective),
    kept=tf.cast(chosen.kept, tf.float32),
    temperature=tf.cast(chosen.temperature, tf.float32),
    has_examples=tf.cast(chosen.has_examples, tf.float32),
    held_out=tf.cast(chosen.scores.num_held_out, tf.float32),
    **of_candidates('right', chosen.scores.num_right),
    **of_candidates('likelihood', chosen.scores.likelihood),
  )
  server = collections.OrderedDict(loss=nothing, accuracy=nothing)
  return client, server, nothing


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Steps:
  """The steps of server and client; `build` describes the fields."""

  head: linear_classifiers.LinearHead
  returns_given_labels: bool
  clients_per_round: int | None
  keep: str

  def find_center(self, dataset: tf.data.Dataset) -> tf.Tensor:
    x, _ = self.head.read_labels(dataset)
    return tf.reduce_mean(x, axis=0)

  def sum_moments(
    self, dataset: tf.data.Dataset, center: tf.Tensor
  ) -> components_lib.Moments:
    return components_lib.measure(self.head.read(dataset), center)

  def find_components(
    self,
    alone: server_labels.Fitted,
    dataset: tf.data.Dataset,
    center: tf.Tensor,
    moments: components_lib.Moments,
  ) -> components_lib.Components:
    """The components of clients' or the server's examples, whichever are more.

    Components of few examples miss directions that separate the classes.
    """
    x, _ = self.head.read_labels(dataset)
    own = components_lib.measure(x, center)
    found = components_lib.find(
      _choose(moments.count < own.count, own, moments),
      tf.cast(center, tf.float64),
      server_labels.varies(tf.cast(x, tf.float64)),
      alone.standardizes,
    )
    return found._replace(count=tf.cast(moments.count, tf.float64))

  def begin(
    self,
    estimate: state_lib.Estimate,
    components: components_lib.Components,
    dataset: tf.data.Dataset,
  ) -> tuple[state_lib.Estimate, client_sums.Received]:
    """The initialized estimate, and the message to clients."""
    _, labels = self._read_labels(dataset, components)
    begun = tf.cond(
      (estimate.passes > 0) | tf.equal(components.count, 0),
      lambda: estimate,
      lambda: server_steps.begin(estimate, labels),
    )
    return begun, server_steps.receive(begun, components)

  def work(
    self, dataset: tf.data.Dataset, received: client_sums.Received
  ) -> tuple[client_sums.Means, client_sums.Measurements, Any]:
    """A client's message and measurements, and its labels if requested."""
    means, measured, labels = client_sums.compute(
      self.head.read(dataset), received
    )
    given = ()
    if self.returns_given_labels:
      given = pseudo_labels.GivenLabels(
        tf.range(tf.size(labels)), labels, tf.ones_like(labels, tf.float32)
      )
    return means, measured, given

  def fit_in_round_0(
    self,
    round_num: tf.Tensor,
    alone: server_labels.Fitted,
    dataset: tf.data.Dataset,
  ) -> server_labels.Fitted:
    """Fits a regression to the labels in round 0, which later rounds keep."""

    def fit() -> server_labels.Fitted:
      x, targets = self.head.read_labels(dataset)
      return server_labels.fit(tf.cast(x, tf.float64), targets)

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
    """The state after a round, and the metrics of the round."""
    components = state.components
    raw, labels = self._read_labels(dataset, components)
    added = server_steps.add(
      state.estimate,
      tf.nest.map_structure(lambda a: tf.cast(a, tf.float64), means),
      tf.cast(measured.count, tf.float64),
    )
    learned = tf.cond(
      self._ends_pass(state)
      & (components.count > 0)
      & (added.num_averaged > 0),
      lambda: server_steps.learn(added, components, labels),
      lambda: added,
    )
    chosen = choice.choose(
      state.alone, components, learned, raw, labels, self.keep
    )
    after = state._replace(
      global_model_weights=self.head.to_weights(chosen.weights),
      # Without clients, the state of an aggregator could become NaN.
      aggregator=_choose(num_present > 0, new_aggregator, state.aggregator),
      round_num=state.round_num + 1,
      estimate=learned,
      labeler=chosen.labeler,
    )
    return after, summarize(measured, num_present, learned, chosen)

  def _read_labels(
    self, dataset: tf.data.Dataset, components: components_lib.Components
  ) -> tuple[tf.Tensor, server_labels.Labels]:
    raw, targets = self.head.read_labels(dataset)
    return tf.cast(raw, tf.float64), server_labels.Labels(
      components_lib.project(raw, components),
      targets,
      server_labels.weigh(targets),
    )

  def _ends_pass(self, state: state_lib.State) -> tf.Tensor:
    """Whether this round completes a pass over all clients."""
    if self.clients_per_round is None:
      return tf.constant(True)
    num_rounds = tf.math.ceil(state.num_clients / self.clients_per_round)
    rounds_per_pass = tf.maximum(tf.cast(num_rounds, tf.int32), 1)
    return tf.equal(tf.math.floormod(state.round_num, rounds_per_pass), 0)


def build(
  classifier: functional.ImageClassifier,
  aggregator: tff.aggregators.AggregationFactory,
  *,
  returns_given_labels: bool = False,
  clients_per_round: int | None = None,
  keep: str = choice.CHOSEN,
) -> federated_process.FederatedProcess:
  """Builds the TFF process of `client_priors`, for a linear model.

  A weighted aggregator weights clients by their numbers of examples. The server
  takes a step after each pass over all clients. A pass has cohorts of
  `clients_per_round`, or is one round by default. `keep` is `choice.CHOSEN` or
  one of `choice.CANDIDATES`.
  """
  head = linear_classifiers.LinearHead(classifier)
  steps = _Steps(
    head=head,
    returns_given_labels=returns_given_labels,
    clients_per_round=clients_per_round,
    keep=keep,
  )

  def start() -> state_lib.State:
    return state_lib.start(
      classifier.initial_weights, head.num_features, head.num_classes
    )

  aggregation = aggregators.create(
    aggregator,
    tff.types.to_type(
      tf.nest.map_structure(
        lambda each: tff.TensorType(np.float32, each.shape),
        start().estimate.averages,
      )
    ),
  )

  @tff.federated_computation
  def initialize_fn():
    values = tff.federated_eval(tff.tensorflow.computation(start), tff.SERVER)
    return composition.replace(
      values, state_lib.State, aggregator=aggregation.initialize()
    )

  def fit_in_round_0(state, server_data):
    return composition.run(
      steps.fit_in_round_0, state.round_num, state.alone, server_data
    )

  def prepare(state, server_data, client_data):
    # For other processes that contain this process and have their own round 0.
    alone = fit_in_round_0(state, server_data)
    center = composition.run(steps.find_center, server_data)
    moments = tff.federated_sum(
      composition.run(
        steps.sum_moments, client_data, tff.federated_broadcast(center)
      )
    )
    return composition.replace(
      state,
      state_lib.State,
      num_clients=tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS)),
      components=composition.run(
        steps.find_components, alone, server_data, center, moments
      ),
      alone=alone,
      round_num=composition.run(
        lambda number: tf.maximum(number, 1), state.round_num
      ),
    )

  def run_round(state, server_data, client_data):
    estimate, received = composition.run(
      steps.begin, state.estimate, state.components, server_data
    )
    means, measured, given = composition.run(
      steps.work, client_data, tff.federated_broadcast(received)
    )
    arguments = (means,)
    if aggregation.is_weighted:
      arguments += (measured.count,)
    aggregated = aggregation.next(state.aggregator, *arguments)
    alone = fit_in_round_0(state, server_data)
    after, metrics = composition.run(
      steps.learn,
      composition.replace(
        state, state_lib.State, alone=alone, estimate=estimate
      ),
      aggregated.state,
      aggregated.result,
      tff.federated_sum(measured),
      tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS)),
      server_data,
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

  shape = classifier.image_shape
  return federated_process.build_federated_process(
    initialize_fn,
    run_round,
    server_data_type=pipelines.labeled_type(shape),
    client_data_type=pipelines.client_type(shape),
    prepare=prepare,
  )


def _choose(condition: tf.Tensor, values: Any, others: Any) -> Any:
  return tf.nest.map_structure(
    lambda each, other: tf.where(condition, each, other), values, others
  )
