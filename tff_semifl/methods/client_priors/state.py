# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The state of the process of client priors."""

from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import linear_head
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.models import functional


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


def build_initial_values(
  classifier: functional.ImageClassifier, head: linear_head.LinearHead
) -> tff.Computation:
  """Builds the computation of the first state.

  Args:
    classifier: The model.
    head: The same as a classifier of raw features.

  Returns:
    () -> the fields of `State` in order, without that of the aggregator.
  """

  @tff.tensorflow.computation
  def initial_values():
    size = components_lib.count_components(head.num_features)
    return (
      tf.nest.map_structure(tf.constant, classifier.initial_weights),
      tf.constant(0),
      tf.constant(0.0),
      components_lib.Components(
        tf.zeros([head.num_features + 1, size + 1], tf.float64),
        tf.zeros([size], tf.float64),
        tf.zeros([], tf.float64),
      ),
      server_steps.start(size, head.num_classes),
    )

  return initial_values
