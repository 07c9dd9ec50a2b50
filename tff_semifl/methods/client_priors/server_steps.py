# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What the server of client priors computes after each pass over all clients.

Three phases follow each other. The first estimates a Gaussian mixture with one
covariance, whose posteriors say which class an example is of, and how clients
differ. The second trains a linear head on these posteriors. In the third, the
head itself says what the classes are, and its penalty, the strength of clients'
priors and a bias of each class are adapted to it. The head is left as it is
once clients are found to be alike: it would learn its own errors.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.methods.client_priors import class_shares
from tff_semifl.methods.client_priors import client_sums
from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import logistic_regression

# Passes of each phase.
MIXTURE_PASSES, WARM_PASSES, HEAD_PASSES = 6, 12, 24
PASSES = MIXTURE_PASSES + WARM_PASSES + HEAD_PASSES
# The head's own posteriors need so many passes to show how clients differ.
_LEAST_HEAD_PASSES = 6
# How much a labeled example counts in the head's loss.
_LABEL_WEIGHT = 3.0
# Added to variances; the mean variance of a component is 1.
_RIDGE = 1e-3
# The least share of the variance in any direction that is within classes: where
# clients do not answer, what is left may be below 0.
_LEAST_WITHIN = 0.05
# bias <- _LEAK bias + _STEP log(wanted / found share of each class).
_LEAK, _STEP = 0.9, 0.5
# So little is no share to divide by.
_LEAST_SHARE = 1e-6
# A class without any label counts as half a label, because a share is above 0.
_ABSENT = 0.5


class Estimate(NamedTuple):
  """The state of the server, float64. Weights are of components.

  Attributes:
    passes: int32, passes over all clients so far, each followed by a step.
    precision: The penalty of the head.
    strength: Of clients' class shares, see `class_shares.strength`.
    server_shares: [classes], of the classes among the labels.
    shares: [classes], of the classes among all clients' examples.
    mixture: [components + 1, classes], log p(example | class).
    head: The head.
    point: The weights to compute the next gradient at.
    momentum: Nesterov's number.
    bias: [classes], of the head as a teacher.
    num_averaged: Examples of the averages.
    averages: Of what clients sent in the present pass, a `client_sums.Means`
      with the matrix of components.
  """

  passes: tf.Tensor
  precision: tf.Tensor
  strength: tf.Tensor
  server_shares: tf.Tensor
  shares: tf.Tensor
  mixture: tf.Tensor
  head: tf.Tensor
  point: tf.Tensor
  momentum: tf.Tensor
  bias: tf.Tensor
  num_averaged: tf.Tensor
  averages: client_sums.Means


def is_head_trained(estimate: Estimate) -> tf.Tensor:
  """Whether the present pass trains the head, a bool scalar."""
  return estimate.passes >= MIXTURE_PASSES


def is_head_teacher(estimate: Estimate) -> tf.Tensor:
  """Whether the head is the teacher of the present pass, a bool scalar."""
  return estimate.passes >= MIXTURE_PASSES + WARM_PASSES


def stays(estimate: Estimate) -> tf.Tensor:
  """Whether clients tell too little for the head to go on, a bool scalar."""
  return (
    estimate.passes >= MIXTURE_PASSES + WARM_PASSES + _LEAST_HEAD_PASSES
  ) & (estimate.averages.evidence < class_shares.LEAST_EVIDENCE)


def start(num_components: int, num_classes: int) -> Estimate:
  """The state before anything is known."""

  def zeros(*shape: int) -> tf.Tensor:
    return tf.zeros(shape, tf.float64)

  weights = zeros(num_components + 1, num_classes)
  shares = tf.fill([num_classes], tf.constant(1 / num_classes, tf.float64))
  return Estimate(
    passes=tf.constant(0),
    precision=tf.constant(logistic_regression.FIRST_PENALTY, tf.float64),
    strength=tf.constant(num_classes, tf.float64),
    server_shares=shares,
    shares=shares,
    mixture=weights,
    head=weights,
    point=weights,
    momentum=tf.ones([], tf.float64),
    bias=zeros(num_classes),
    num_averaged=zeros(),
    averages=client_sums.Means(
      zeros(num_classes),
      zeros(num_classes),
      weights,
      zeros(num_classes),
      zeros(),
    ),
  )


def begin(estimate: Estimate, x: tf.Tensor, targets: tf.Tensor) -> Estimate:
  """Begins with a regression of the labels alone.

  Args:
    estimate: From `start`.
    x: float64 [labels, components], of the labeled examples.
    targets: float64 [labels, classes], one-hot.
  """
  weights, precision = logistic_regression.fit(x, targets)
  counts = tf.maximum(tf.reduce_sum(targets, axis=0), _ABSENT)
  shares = counts / tf.reduce_sum(counts)
  return estimate._replace(
    precision=precision,
    server_shares=shares,
    shares=shares,
    mixture=_add_bias(weights, -tf.math.log(shares)),
  )


def tell(estimate: Estimate) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """What clients are told.

  Returns:
    The teacher, of components; alpha; and the weights to compute a gradient at.
  """
  is_teacher = is_head_teacher(estimate)
  shift = estimate.bias - tf.math.log(estimate.shares)
  return (
    tf.where(is_teacher, _add_bias(estimate.head, shift), estimate.mixture),
    estimate.strength
    * tf.where(is_teacher, estimate.shares, estimate.server_shares),
    estimate.point,
  )


def add(
  estimate: Estimate, means: client_sums.Means, count: tf.Tensor
) -> Estimate:
  """Adds what the clients of a round sent to the averages of the pass.

  Args:
    estimate: The state.
    means: The means over these clients' examples, float64, with the matrix of
      components.
    count: float64 scalar, the number of these examples.
  """
  total = estimate.num_averaged + count
  share = tf.math.divide_no_nan(count, total)
  return estimate._replace(
    num_averaged=total,
    averages=tf.nest.map_structure(
      lambda old, new: (1 - share) * old + share * new, estimate.averages, means
    ),
  )


def learn(
  estimate: Estimate,
  components: components_lib.Components,
  x: tf.Tensor,
  targets: tf.Tensor,
) -> Estimate:
  """Takes the step after a pass, if anybody sent anything in it.

  Args:
    estimate: The state.
    components: The components.
    x: As in `begin`.
    targets: As in `begin`.
  """
  averages = estimate.averages
  # Noise that was added for privacy may leave their ranges.
  estimate = estimate._replace(
    averages=averages._replace(
      posteriors=tf.maximum(averages.posteriors, _LEAST_SHARE),
      log_shares=tf.minimum(averages.log_shares, 0),
      variance=tf.maximum(averages.variance, 0),
    )
  )

  def step() -> Estimate:
    learned = tf.case(
      [
        (stays(estimate), lambda: estimate),
        (
          is_head_trained(estimate),
          lambda: _learn_head(estimate, components, x, targets),
        ),
      ],
      lambda: _learn_mixture(estimate, components, x, targets),
    )
    learned = learned._replace(
      passes=learned.passes + 1,
      num_averaged=tf.zeros_like(learned.num_averaged),
    )
    begins_head = is_head_trained(learned) & ~is_head_trained(estimate)
    begins_teacher = is_head_teacher(learned) & ~is_head_teacher(estimate)
    found = estimate.averages.posteriors
    # One example of each class more: none is absent, and a few clients'
    # examples do not count for more than they tell.
    num_classes = tf.cast(tf.size(found), tf.float64)
    count = components.count
    shares = (
      count * found / tf.reduce_sum(found)
      + num_classes * estimate.server_shares
    ) / (count + num_classes)
    return learned._replace(
      shares=tf.where(begins_head, shares, learned.shares),
      point=tf.where(begins_teacher, learned.head, learned.point),
    )

  return tf.cond(estimate.num_averaged > 0, step, lambda: estimate)


def classifier(estimate: Estimate) -> tf.Tensor:
  """The classifier so far, of components, for the server's class shares."""
  log_shares = tf.math.log(estimate.server_shares)
  return tf.where(
    is_head_teacher(estimate),
    _add_bias(estimate.head, log_shares - tf.math.log(estimate.shares)),
    _add_bias(estimate.mixture, log_shares),
  )


def _learn_mixture(
  estimate: Estimate,
  components: components_lib.Components,
  x: tf.Tensor,
  targets: tf.Tensor,
) -> Estimate:
  """Takes the maximum of the mixture's likelihood, in closed form."""
  averages, count = estimate.averages, components.count
  counts = count * averages.posteriors + tf.reduce_sum(targets, axis=0)
  sums = count * averages.matrix[:-1] + tf.matmul(x, targets, transpose_a=True)
  means = sums / counts  # [components, classes]
  total = (
    count * tf.linalg.diag(components.variances)
    + tf.matmul(x, x, transpose_a=True)
  ) / tf.reduce_sum(counts)
  total += _RIDGE * tf.eye(tf.shape(x)[1], dtype=tf.float64)
  between = tf.matmul(
    means * counts / tf.reduce_sum(counts), means, transpose_b=True
  )
  deviations = tf.sqrt(tf.linalg.diag_part(total))
  scale = deviations[:, tf.newaxis] * deviations
  values, vectors = tf.linalg.eigh((total - between) / scale)
  within = scale * tf.matmul(
    vectors * tf.maximum(values, _LEAST_WITHIN), vectors, transpose_b=True
  )
  weights = tf.linalg.solve(within, means)
  bias = -0.5 * tf.reduce_sum(means * weights, axis=0)
  return estimate._replace(
    strength=class_shares.strength(averages.log_shares, estimate.server_shares),
    mixture=tf.concat([weights, bias[tf.newaxis]], axis=0),
  )


def _learn_head(
  estimate: Estimate,
  components: components_lib.Components,
  x: tf.Tensor,
  targets: tf.Tensor,
) -> Estimate:
  """Takes a step of the head, and adapts it where it is its own teacher."""
  averages, count = estimate.averages, components.count
  is_teacher = is_head_teacher(estimate)
  padded = logistic_regression.with_ones(x)
  second = tf.linalg.diag(
    count * tf.concat([components.variances, [1.0]], axis=0)
  ) + _LABEL_WEIGHT * tf.matmul(padded, padded, transpose_a=True)
  adapted = estimate._replace(
    strength=class_shares.strength(averages.log_shares, estimate.shares),
    bias=_LEAK * estimate.bias
    + _STEP * (tf.math.log(estimate.shares) - tf.math.log(averages.posteriors)),
    precision=logistic_regression.find_penalty(
      estimate.head, estimate.precision, second, averages.variance
    ),
  )
  estimate = tf.nest.map_structure(
    lambda new, old: tf.where(is_teacher, new, old), adapted, estimate
  )
  point = estimate.point
  gradient = (
    count * averages.matrix
    + _LABEL_WEIGHT
    * tf.matmul(
      padded, targets - tf.nn.softmax(padded @ point), transpose_a=True
    )
    - logistic_regression.penalty_gradient(point, estimate.precision)
  )
  stepped = (
    point
    + logistic_regression.inverse_of_bound(second, estimate.precision)
    @ gradient
  )
  momentum, ratio = logistic_regression.next_momentum(estimate.momentum)
  # Momentum needs the same loss in each step.
  ratio = tf.where(is_teacher, tf.zeros_like(ratio), ratio)
  return estimate._replace(
    head=stepped,
    point=stepped + ratio * (stepped - estimate.head),
    momentum=momentum,
  )


def _add_bias(weights: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
  return tf.concat([weights[:-1], weights[-1:] + bias], axis=0)
