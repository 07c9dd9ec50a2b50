# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The state of the process of `client_priors`."""

from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.algorithms.client_priors import client_sums
from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import mixture as mixture_lib
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.models import functional

# All replicas of the first learner, then all replicas of the second learner.
LEARNERS = 2 * server_labels.REPLICAS


class Estimate(NamedTuple):
  """What the server estimates, float64.

  Weights are for components, [learners or replicas, components + 1, classes].
  """

  passes: tf.Tensor  # int32, the number of completed passes over all clients.
  shares: tf.Tensor  # [learners, classes], the mean class shares m.
  strength: tf.Tensor  # [learners], see `client_prior.strength`.
  mixture: mixture_lib.Mixture
  spread: tf.Tensor  # [replicas], see `client_sums.Means`.
  head: tf.Tensor  # Weights of the learners' heads.
  point: tf.Tensor  # Weights at which the next gradient is computed.
  momentum: tf.Tensor  # Nesterov's momentum term.
  bias: tf.Tensor  # [learners, classes], class biases of self-taught heads.
  taught: tf.Tensor  # Mixtures, or heads trained on their posteriors.
  leader: tf.Tensor  # int32, the index of the learner that labels.
  num_averaged: tf.Tensor  # The number of examples in `averages`.
  averages: client_sums.Means  # The means over clients of the current pass.


class Labeler(NamedTuple):
  """A classifier that labels with each client's class shares, float64."""

  weights: tf.Tensor  # [features + 1, classes], of log p(example | class).
  alpha: tf.Tensor  # [classes], the prior of clients' class shares.
  # Scalar, the number of held-out labels that are predicted correctly; more
  # than all labels if labels are too few to choose a classifier.
  num_right: tf.Tensor


class State(NamedTuple):
  """The state of the process at the server."""

  global_model_weights: Any  # Weights of the best classifier at present.
  aggregator: Any
  round_num: Any  # int32, the round that `next` will run.
  num_clients: Any  # float32, the number of all clients.
  alone: Any  # `server_labels.Fitted`, set in round 0.
  components: Any  # `components.Components`, set before round 1.
  estimate: Any  # `Estimate`.
  labeler: Any  # `Labeler`, for methods that train on its labels.


def start(
  weights: functional.ModelWeights, num_features: int, num_classes: int
) -> State:
  """The state before round 0, without the state of the aggregator."""

  def zeros(*shape: int) -> tf.Tensor:
    return tf.zeros(shape, tf.float64)

  replicas = server_labels.REPLICAS
  num_components = components_lib.count_components(num_features)
  of_replicas = zeros(replicas, num_components + 1, num_classes)
  of_learners = zeros(LEARNERS, num_components + 1, num_classes)
  scalars, of_classes = zeros(LEARNERS), zeros(LEARNERS, num_classes)
  return State(
    global_model_weights=tf.nest.map_structure(tf.convert_to_tensor, weights),
    aggregator=(),
    round_num=tf.constant(0),
    num_clients=tf.constant(0.0),
    alone=server_labels.Fitted(
      zeros(replicas, num_features + 1, num_classes), tf.constant(False)
    ),
    components=components_lib.Components(
      center=zeros(num_features),
      basis=zeros(num_features, num_components),
      variances=zeros(num_components),
      count=zeros(),
    ),
    estimate=Estimate(
      passes=tf.constant(0),
      shares=of_classes + 1 / num_classes,
      strength=scalars + num_classes,
      mixture=mixture_lib.Mixture(
        of_replicas, zeros(replicas, num_components, num_classes)
      ),
      spread=zeros(replicas),
      head=of_learners,
      point=of_learners,
      momentum=tf.ones([], tf.float64),
      bias=of_classes,
      taught=of_replicas,
      leader=tf.constant(0),
      num_averaged=zeros(),
      averages=client_sums.Means(
        posteriors=of_classes,
        log_shares=of_classes,
        matrix=of_learners,
        evidence=scalars,
        objective=scalars,
        spread=scalars,
        agreement=zeros(),
        consensus=zeros(replicas),
      ),
    ),
    labeler=Labeler(
      zeros(num_features + 1, num_classes), zeros(num_classes) + 1.0, zeros()
    ),
  )
