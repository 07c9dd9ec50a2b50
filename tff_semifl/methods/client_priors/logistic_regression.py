# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Multinomial logistic regression whose penalty the data choose.

Weights are float [features + 1, classes], with the bias in the last row, which
is not penalized.

References:
  Boehning. Multinomial logistic regression algorithm. Annals of the Institute
  of Statistical Mathematics, 1992: a bound of the Hessian that does not depend
  on the weights.
  MacKay. Bayesian interpolation. Neural Computation, 1992: the penalty of
  largest evidence.
"""

import tensorflow as tf

# Before any data have a say.
FIRST_PENALTY = 10.0
_LEAST_PENALTY, _GREATEST_PENALTY = 1e-2, 1e3
_STEPS, _PENALTY_UPDATES = 300, 8
# The bias has a little, so that matrices can be inverted.
_PENALTY_OF_BIAS = 1e-6


def with_ones(x: tf.Tensor) -> tf.Tensor:
  """Appends a feature that is 1, for the bias: [n, d] -> [n, d + 1]."""
  return tf.concat([x, tf.ones([tf.shape(x)[0], 1], x.dtype)], axis=1)


def fit(x: tf.Tensor, targets: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Fits weights and penalty to labeled examples.

  Args:
    x: float64 [examples, features].
    targets: float64 [examples, classes], one-hot or shares.

  Returns:
    The weights, and the penalty, a scalar.
  """
  padded = with_ones(x)
  second = tf.matmul(padded, padded, transpose_a=True)
  shape = (tf.shape(padded)[1], tf.shape(targets)[1])

  def improve(weights: tf.Tensor, penalty: tf.Tensor):
    inverse = inverse_of_bound(second, penalty)

    def step(weights: tf.Tensor, point: tf.Tensor, momentum: tf.Tensor):
      gradient = tf.matmul(
        padded, targets - tf.nn.softmax(padded @ point), transpose_a=True
      )
      stepped = point + inverse @ (gradient - penalty_gradient(point, penalty))
      new_momentum, ratio = next_momentum(momentum)
      return stepped, stepped + ratio * (stepped - weights), new_momentum

    weights, _, _ = tf.while_loop(
      lambda *_: True,
      step,
      (weights, weights, tf.ones([], x.dtype)),
      maximum_iterations=_STEPS,
    )
    predicted = tf.nn.softmax(padded @ weights)
    variance = tf.reduce_mean(predicted * (1 - predicted), axis=0)
    return weights, find_penalty(weights, penalty, second, variance)

  return tf.while_loop(
    lambda *_: True,
    improve,
    (tf.zeros(shape, x.dtype), tf.constant(FIRST_PENALTY, x.dtype)),
    maximum_iterations=_PENALTY_UPDATES,
  )


def next_momentum(momentum: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Nesterov's next momentum number, and how far to go on beyond a step."""
  new = 0.5 + tf.sqrt(0.25 + momentum**2)
  return new, (momentum - 1) / new


def inverse_of_bound(second: tf.Tensor, penalty: tf.Tensor) -> tf.Tensor:
  """Inverts a bound of the Hessian, with which each step improves the loss.

  Args:
    second: float64 [features + 1, features + 1], the sum of x x^T with ones.
    penalty: float64 scalar.
  """
  num_features = tf.shape(second)[0] - 1
  diagonal = tf.concat(
    [
      tf.fill([num_features], penalty),
      tf.constant([_PENALTY_OF_BIAS], second.dtype),
    ],
    axis=0,
  )
  return tf.linalg.inv(0.5 * second + tf.linalg.diag(diagonal))


def penalty_gradient(weights: tf.Tensor, penalty: tf.Tensor) -> tf.Tensor:
  """The gradient of penalty / 2 times the squared length of the weights."""
  return tf.concat(
    [penalty * weights[:-1], tf.zeros_like(weights[-1:])], axis=0
  )


def find_penalty(
  weights: tf.Tensor,
  penalty: tf.Tensor,
  second: tf.Tensor,
  variance: tf.Tensor,
) -> tf.Tensor:
  """MacKay's update: the effective number of weights over their squares.

  Args:
    weights: The weights.
    penalty: The penalty that they were fitted with.
    second: As in `inverse_of_bound`.
    variance: float64 [classes], the mean of p (1 - p) over examples.

  Returns:
    float64 scalar.
  """
  eigenvalues = tf.maximum(tf.linalg.eigvalsh(second[:-1, :-1]), 0)
  curvature = variance[:, tf.newaxis] * eigenvalues
  num_classes = tf.cast(tf.size(variance), second.dtype)
  effective = tf.reduce_sum(curvature / (curvature + penalty))
  effective *= 1 - 1 / num_classes
  squares = tf.maximum(tf.reduce_sum(weights[:-1] ** 2), 1e-12)
  return tf.clip_by_value(
    effective / squares, _LEAST_PENALTY, _GREATEST_PENALTY
  )
