# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The state of the process of client priors."""

from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import held_out
from tff_semifl.methods.client_priors import labels_alone
from tff_semifl.methods.client_priors import linear_head
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.models import functional


class State(NamedTuple):
  """The state of the process.

  Attributes:
    global_model_weights: The classifier that is kept so far.
    aggregator: State of the aggregator.
    round_num: int32, the round that `next` will run.
    num_clients: float32, all clients.
    kept: int32, the index of the kept classifier among
      `held_out.CANDIDATES`.
    alone: `labels_alone.Fitted`, from round 0 on.
    components: `components.Components`, once clients' examples were added up.
    estimate: `server_steps.Estimate`.
  """

  global_model_weights: Any
  aggregator: Any
  round_num: Any
  num_clients: Any
  kept: Any
  alone: Any
  components: Any
  estimate: Any


def build_initial_values(
  classifier: functional.ImageClassifier, head: linear_head.LinearHead
) -> tff.Computation:
  """Builds the computation of the first state.

  Args:
    classifier: The model.
    head: The same as a classifier of raw features.

  Returns:
    () -> a `State` whose aggregator is ().
  """

  @tff.tensorflow.computation
  def initial_values():
    features, classes = head.num_features, head.num_classes
    size = components_lib.count_components(features)

    def zeros(*shape: int) -> tf.Tensor:
      return tf.zeros(shape, tf.float64)

    return State(
      global_model_weights=tf.nest.map_structure(
        tf.constant, classifier.initial_weights
      ),
      aggregator=(),
      round_num=tf.constant(0),
      num_clients=tf.constant(0.0),
      kept=tf.constant(0),
      alone=labels_alone.Fitted(
        zeros(held_out.REPLICAS, features + 1, classes), tf.constant(False)
      ),
      components=components_lib.Components(
        zeros(features), zeros(features, size), zeros(size), zeros()
      ),
      estimate=server_steps.start(size, classes),
    )

  return initial_values
