# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client priors on features, as a TFF process.

Before the first round, sums of all clients give principal components. In round
0 the server fits its labels alone; in every other round clients of a cohort
send means over their examples, and the server updates its estimate.
"""

import collections

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.aggregation import aggregators
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.methods.client_priors import client_sums
from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import labels_alone
from tff_semifl.methods.client_priors import linear_head
from tff_semifl.methods.client_priors import measurements
from tff_semifl.methods.client_priors import preparation
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.methods.client_priors import state as state_lib
from tff_semifl.models import functional
from tff_semifl.training import given_labels as given_labels_lib


def build(
  classifier: functional.ImageClassifier,
  aggregator: tff.aggregators.AggregationFactory,
  *,
  returns_given_labels: bool = False,
  clients_give_components: bool = True,
  clients_per_round: int | None = None,
) -> federated_process.FederatedProcess:
  """Builds the process.

  Args:
    classifier: A linear model; see `linear_head`.
    aggregator: Combines what clients send. If it is weighted, a client weighs
      as much as it has examples.
    returns_given_labels: Whether to return the most probable class of each
      example.
    clients_give_components: Whether principal components are those of clients'
      examples, of which each client then sends the sums of x and x x^T once. If
      not, they are those of the server's examples.
    clients_per_round: Clients of a round. All clients take part, one cohort
      after the other, before the server takes a step. None for all of them at
      once.

  Returns:
    A process with the types and metrics of other systems, whose `prepare` finds
    the components.
  """
  head = linear_head.LinearHead(classifier)
  server_type = pipelines.labeled_type(classifier.image_shape)
  client_type = pipelines.client_type(classifier.image_shape)

  def to_weights(
    weights: tf.Tensor, components: components_lib.Components
  ) -> functional.ModelWeights:
    return head.to_weights(components.projection @ weights)

  initial_values = state_lib.build_initial_values(classifier, head)
  types = initial_values.type_signature.result
  components_type, estimate_type = types[3], types[4]

  @tff.tensorflow.computation(estimate_type, components_type, server_type)
  def begin(estimate, components, dataset):
    x, targets = head.read_labels(dataset)
    begun = tf.cond(
      (estimate.passes > 0) | tf.equal(components.count, 0),
      lambda: estimate,
      lambda: server_steps.begin(
        estimate, components_lib.project(x, components), targets
      ),
    )
    teacher, alpha, point = server_steps.tell(begun)
    projection = components.projection
    received = client_sums.Received(
      projection @ teacher,
      alpha,
      projection @ point,
      tf.cast(server_steps.is_head_trained(begun), tf.float64),
    )
    return begun, tf.nest.map_structure(
      lambda each: tf.cast(each, tf.float32), received
    )

  received_type = begin.type_signature.result[1]

  @tff.tensorflow.computation(client_type, received_type)
  def work(dataset, received):
    means, measured, labels = client_sums.compute(head.read(dataset), received)
    given = given_labels_lib.NOT_KEPT
    if returns_given_labels:
      given = given_labels_lib.GivenLabels(
        tf.range(tf.size(labels)), labels, tf.ones_like(labels, tf.float32)
      )
    return means, measured, given

  means_type, measured_type, _ = work.type_signature.result
  aggregation = aggregators.create(aggregator, means_type)

  @tff.tensorflow.computation(
    types[0],
    np.int32,
    np.float32,
    components_type,
    estimate_type,
    means_type,
    measured_type,
    np.float32,
    server_type,
  )
  def learn(
    weights,
    next_round_num,
    num_clients,
    components,
    estimate,
    means,
    measured,
    num_present,
    dataset,
  ):
    x, targets = head.read_labels(dataset)
    rounds_per_pass = 1
    if clients_per_round is not None:
      rounds_per_pass = tf.maximum(
        tf.cast(tf.math.ceil(num_clients / clients_per_round), tf.int32), 1
      )
    ends_pass = tf.equal(
      tf.math.floormod(next_round_num - 1, rounds_per_pass), 0
    )
    double = tf.nest.map_structure(lambda a: tf.cast(a, tf.float64), means)
    added = server_steps.add(
      estimate,
      double._replace(
        matrix=tf.matmul(components.projection, double.matrix, transpose_a=True)
      ),
      tf.cast(measured.count, tf.float64),
    )

    def take_step():
      learned = server_steps.learn(
        added, components, components_lib.project(x, components), targets
      )
      return to_weights(server_steps.classifier(learned), components), learned

    new_weights, new_estimate = tf.cond(
      ends_pass & (components.count > 0),
      take_step,
      lambda: (weights, added),
    )
    return (
      new_weights,
      new_estimate,
      measurements.summarize(
        measured, means.evidence, num_present, new_estimate
      ),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, round_num, num_clients, components, estimate = tff.federated_eval(
      initial_values, tff.SERVER
    )
    return tff.federated_zip(
      state_lib.State(
        weights,
        aggregation.initialize(),
        round_num,
        num_clients,
        components,
        estimate,
      )
    )

  # Later rounds have a better model.
  @tff.tensorflow.computation(np.int32, types[0], server_type)
  def fit_in_round_0(round_num, weights, dataset):
    return (
      tf.cond(
        tf.equal(round_num, 0),
        lambda: labels_alone.fit(head, *head.read_labels(dataset)),
        lambda: weights,
      ),
      round_num + 1,
    )

  find_components = preparation.build(
    head, server_type, client_type, clients_give_components
  )

  def prepare(state, server_data, client_data):
    return tff.federated_zip(
      state_lib.State(
        state.global_model_weights,
        state.aggregator,
        state.round_num,
        tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS)),
        find_components(server_data, client_data),
        state.estimate,
      )
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
    weights, round_num = tff.federated_map(
      fit_in_round_0,
      (state.round_num, state.global_model_weights, server_data),
    )
    weights, learned, metrics = tff.federated_map(
      learn,
      (
        weights,
        round_num,
        state.num_clients,
        state.components,
        estimate,
        aggregated.result,
        tff.federated_sum(measured),
        tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS)),
        server_data,
      ),
    )
    return federated_process.RoundOutput(
      state=tff.federated_zip(
        state_lib.State(
          weights,
          aggregated.state,
          round_num,
          state.num_clients,
          state.components,
          learned,
        )
      ),
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
