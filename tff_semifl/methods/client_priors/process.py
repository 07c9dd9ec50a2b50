# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client priors on features, as a TFF process.

Before the first round, sums of all clients give principal components. In round
0 the server fits its labels alone; in every other round clients of a cohort
send means over their examples, and the server updates its estimate.
"""

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.aggregation import aggregators
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.methods.client_priors import client_sums
from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import linear_head
from tff_semifl.methods.client_priors import logistic_regression
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.models import functional
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import weight_diversity


class State(NamedTuple):
  """The state of the process.

  Attributes:
    global_model_weights: The classifier so far.
    aggregator: State of the aggregator.
    round_num: int32, the round that `next` will run.
    num_clients: float32, all clients.
    components: `components.Components`, once clients' examples were added up.
    estimate: `server_steps.Estimate`.
  """

  global_model_weights: Any
  aggregator: Any
  round_num: Any
  num_clients: Any
  components: Any
  estimate: Any


def build(
  classifier: functional.ImageClassifier,
  aggregator: tff.aggregators.AggregationFactory,
  *,
  returns_given_labels: bool = False,
  clients_give_components: bool = True,
  cohort_size: int | None = None,
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
    cohort_size: Clients of a round. All clients take part, one cohort after the
      other, before the server takes a step. None for all of them at once.

  Returns:
    A process with the types and metrics of other systems, whose `prepare` finds
    the components.
  """
  head = linear_head.LinearHead(classifier)
  num_classes = classifier.num_classes
  size = components_lib.count_components(head.num_features)
  server_type = pipelines.labeled_type(classifier.image_shape)
  client_type = pipelines.client_type(classifier.image_shape)

  def read(dataset: tf.data.Dataset) -> tf.Tensor:
    return head.flatten(pipelines.concatenate_chunks(dataset)['image'])

  def read_labels(
    dataset: tf.data.Dataset,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    labeled = pipelines.concatenate_chunks(dataset)
    targets = tf.one_hot(labeled['label'], num_classes, dtype=tf.float64)
    return head.flatten(labeled['image']), targets

  def project(x: tf.Tensor, components: components_lib.Components) -> tf.Tensor:
    padded = logistic_regression.with_ones(tf.cast(x, tf.float64))
    return (padded @ components.projection)[:, :-1]

  def to_weights(
    weights: tf.Tensor, components: components_lib.Components
  ) -> functional.ModelWeights:
    return head.to_weights(components.projection @ weights)

  @tff.tensorflow.computation
  def initial_values():
    nothing = components_lib.Components(
      tf.zeros([head.num_features + 1, size + 1], tf.float64),
      tf.zeros([size], tf.float64),
      tf.zeros([], tf.float64),
    )
    return (
      tf.nest.map_structure(tf.constant, classifier.initial_weights),
      tf.constant(0),
      tf.constant(0.0),
      nothing,
      server_steps.start(size, num_classes),
    )

  types = initial_values.type_signature.result
  components_type, estimate_type = types[3], types[4]

  def fit_labels_alone(dataset: tf.data.Dataset) -> functional.ModelWeights:
    x, targets = read_labels(dataset)
    found = components_lib.find(components_lib.measure(x))
    weights, _ = logistic_regression.fit(project(x, found), targets)
    return to_weights(weights, found)

  @tff.tensorflow.computation(estimate_type, components_type, server_type)
  def begin(estimate, components, dataset):
    x, targets = read_labels(dataset)
    begun = tf.cond(
      (estimate.passes > 0) | tf.equal(components.count, 0),
      lambda: estimate,
      lambda: server_steps.begin(estimate, project(x, components), targets),
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
    means, measured, labels = client_sums.compute(read(dataset), received)
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
    x, targets = read_labels(dataset)
    rounds_per_pass = 1
    if cohort_size is not None:
      rounds_per_pass = tf.maximum(
        tf.cast(tf.math.ceil(num_clients / cohort_size), tf.int32), 1
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
        added, components, project(x, components), targets
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
      _summarize(measured, num_present, new_estimate),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, round_num, num_clients, components, estimate = tff.federated_eval(
      initial_values, tff.SERVER
    )
    return tff.federated_zip(
      State(
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
        lambda: fit_labels_alone(dataset),
        lambda: weights,
      ),
      round_num + 1,
    )

  @tff.tensorflow.computation(client_type)
  def measure(dataset: tf.data.Dataset):
    x = read(dataset)
    if clients_give_components:
      return components_lib.measure(x)
    return tf.cast(tf.shape(x)[0], tf.float32)

  @tff.tensorflow.computation(server_type, measure.type_signature.result)
  def find_components(dataset, measured):
    if clients_give_components:
      return components_lib.find(measured)
    x, _ = read_labels(dataset)
    found = components_lib.find(components_lib.measure(x))
    return found._replace(count=tf.cast(measured, tf.float64))

  def prepare(state, server_data, client_data):
    measured = tff.federated_sum(tff.federated_map(measure, client_data))
    return tff.federated_zip(
      State(
        state.global_model_weights,
        state.aggregator,
        state.round_num,
        tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS)),
        tff.federated_map(find_components, (server_data, measured)),
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
        State(
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


def _summarize(
  measured: client_sums.Measurements,
  num_clients: tf.Tensor,
  estimate: server_steps.Estimate,
) -> tuple[Mapping[str, tf.Tensor], Mapping[str, tf.Tensor], tf.Tensor]:
  """Returns the metrics of clients and server, and the learning rate."""
  nothing = tf.constant(float('nan'))
  client = collections.OrderedDict(
    loss=measured.loss / measured.count,
    accuracy=measured.num_agreed / measured.count,
    label_ratio=measured.count / measured.count,
    num_participating=num_clients - measured.num_rejected,
    num_rejected=measured.num_rejected,
    **weight_diversity.measure(
      weight_diversity.update_sums((), None), num_clients
    ),
    # How much likelier own class shares make an example, and how clients
    # differ: small strength, different clients.
    evidence=measured.evidence / measured.count,
    strength=tf.cast(estimate.strength, tf.float32),
  )
  server = collections.OrderedDict(loss=nothing, accuracy=nothing)
  return client, server, nothing
