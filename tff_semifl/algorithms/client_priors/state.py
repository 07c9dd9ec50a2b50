# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The state of the process of client priors."""

from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms.client_priors import client_sums
from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import held_out
from tff_semifl.algorithms.client_priors import labels_alone
from tff_semifl.algorithms.client_priors import linear_head
from tff_semifl.algorithms.client_priors import mixture as mixture_lib
from tff_semifl.models import functional

# Learners: the first with all replicas, then the second.
LEARNERS = 2 * held_out.REPLICAS


class Estimate(NamedTuple):
  """What the server estimates, float64; weights are for components.

  Attributes:
    passes: int32, the number of passes over all clients so far.
    shares: [learners, classes], the mean class shares m of clients.
    strength: [learners], see `class_shares.strength`.
    mixture: The mixtures.
    spread: [replicas], see `client_sums.Means`.
    head: [learners, components + 1, classes], the weights of the heads.
    point: [learners, components + 1, classes], where the next gradient is
      computed.
    momentum: Nesterov's momentum number.
    bias: [learners, classes], class biases of self-taught heads.
    taught: [replicas, components + 1, classes], the heads trained on the
      mixtures' posteriors, for the labels' class shares.
    num_averaged: The number of examples in `averages`.
    averages: The mean of what clients sent in the present pass.
  """

  passes: tf.Tensor
  shares: tf.Tensor
  strength: tf.Tensor
  mixture: mixture_lib.Mixture
  spread: tf.Tensor
  head: tf.Tensor
  point: tf.Tensor
  momentum: tf.Tensor
  bias: tf.Tensor
  taught: tf.Tensor
  num_averaged: tf.Tensor
  averages: client_sums.Means


class State(NamedTuple):
  """The state of the process.

  Attributes:
    global_model_weights: The classifier that would be exported now.
    aggregator: The state of the aggregator.
    round_num: int32, the round that `next` will run.
    num_clients: float32, the number of all clients.
    kept: int32, the index of the classifier in `held_out.CANDIDATES`.
    alone: `labels_alone.Fitted`, set in round 0.
    components: `components.Components`, set before round 1.
    estimate: `Estimate`.
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
  """Builds the computation of the initial state.

  Args:
    classifier: The model.
    head: Converts its weights.

  Returns:
    () -> a `State` whose aggregator is ().
  """

  @tff.tensorflow.computation
  def initial_values():
    features, classes = head.num_features, head.num_classes
    size = components_lib.count_components(features)
    return State(
      global_model_weights=tf.nest.map_structure(
        tf.constant, classifier.initial_weights
      ),
      aggregator=(),
      round_num=tf.constant(0),
      num_clients=tf.constant(0.0),
      kept=tf.constant(0),
      alone=labels_alone.Fitted(
        _zeros(held_out.REPLICAS, features + 1, classes), tf.constant(False)
      ),
      components=components_lib.Components(
        _zeros(features), _zeros(features, size), _zeros(size), _zeros()
      ),
      estimate=start_estimate(size, classes),
    )

  return initial_values


def start_estimate(num_components: int, num_classes: int) -> Estimate:
  """The initial estimate."""
  size = num_components + 1
  heads = _zeros(LEARNERS, size, num_classes)
  of_classes, of_learners = _zeros(LEARNERS, num_classes), _zeros(LEARNERS)
  return Estimate(
    passes=tf.constant(0),
    shares=tf.fill(of_classes.shape, tf.constant(1 / num_classes, tf.float64)),
    strength=tf.fill(of_learners.shape, tf.constant(num_classes, tf.float64)),
    mixture=mixture_lib.Mixture(
      _zeros(held_out.REPLICAS, size, num_classes),
      _zeros(held_out.REPLICAS, num_components, num_classes),
    ),
    spread=_zeros(held_out.REPLICAS),
    head=heads,
    point=heads,
    momentum=tf.ones([], tf.float64),
    bias=of_classes,
    taught=_zeros(held_out.REPLICAS, size, num_classes),
    num_averaged=_zeros(),
    averages=client_sums.Means(
      of_classes, of_classes, heads, of_learners, of_learners, of_learners
    ),
  )


def _zeros(*shape: int) -> tf.Tensor:
  return tf.zeros(shape, tf.float64)
