# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Principal components of feature vectors, from sums over clients."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.methods.client_priors import logistic_regression

# At most so many, and at most one for ten examples, because a covariance of
# more cannot be estimated. With few examples, fewer components lose more.
MOST_COMPONENTS = 100
_EXAMPLES_PER_COMPONENT = 10
_ENOUGH_COMPONENTS, _FEWEST_COMPONENTS = 30.0, 10.0


class Moments(NamedTuple):
  """Sums over examples.

  Attributes:
    count: float scalar, the number of examples.
    first: float [features], the sum of the vectors.
    second: float [features, features], the sum of x x^T.
  """

  count: tf.Tensor
  first: tf.Tensor
  second: tf.Tensor


class Components(NamedTuple):
  """Principal components, with one scale for all of them.

  Attributes:
    projection: float64 [features + 1, components + 1], from a vector with a 1
      at its end to its components with a 1 at their end. The mean vector has
      components 0, and their mean variance is 1. Components that are not used
      are columns of zeros.
    variances: float64 [components], of all examples; 0 for those not used.
    count: float64 scalar, the number of examples.
  """

  projection: tf.Tensor
  variances: tf.Tensor
  count: tf.Tensor


def measure(x: tf.Tensor) -> Moments:
  """The sums of a client's examples, float32 [examples, features]."""
  return Moments(
    tf.cast(tf.shape(x)[0], tf.float32),
    tf.reduce_sum(x, axis=0),
    tf.matmul(x, x, transpose_a=True),
  )


def count_components(num_features: int) -> int:
  """The number of components, those not used included."""
  return min(MOST_COMPONENTS, num_features)


def project(x: tf.Tensor, components: Components) -> tf.Tensor:
  """The components of examples, float64 [examples, components]."""
  padded = logistic_regression.with_ones(tf.cast(x, tf.float64))
  return (padded @ components.projection)[:, :-1]


def count_for_mixture(count: tf.Tensor) -> tf.Tensor:
  """Components, float64, that a mixture of so many examples can use."""
  return tf.maximum(
    count / _EXAMPLES_PER_COMPONENT,
    tf.clip_by_value(count / 2, _FEWEST_COMPONENTS, _ENOUGH_COMPONENTS),
  )


def find(
  moments: Moments,
  count_fn: Callable[[tf.Tensor], tf.Tensor] = count_for_mixture,
) -> Components:
  """Finds the components.

  Args:
    moments: Those of all examples, added up.
    count_fn: From the number of examples, float64, to the most components.
  """
  count, first, second = (tf.cast(each, tf.float64) for each in moments)
  mean = first / count
  covariance = second / count - mean[:, tf.newaxis] * mean
  values, vectors = tf.linalg.eigh(covariance)
  size = count_components(first.shape[0])
  values = values[::-1][:size]
  used = tf.cast(tf.range(size), tf.float64) < count_fn(count)
  # Features without any variance have no direction to look in; rounding leaves
  # a little, of either sign.
  used &= values > 1e-12 * values[0]
  is_used = tf.cast(used, tf.float64)
  values *= is_used
  scale = tf.maximum(
    tf.reduce_sum(values) / tf.maximum(tf.reduce_sum(is_used), 1), 1e-30
  )
  basis = vectors[:, ::-1][:, :size] * is_used / tf.sqrt(scale)
  offset = -tf.linalg.matvec(basis, mean, transpose_a=True)
  projection = tf.concat(
    [
      tf.concat([basis, offset[tf.newaxis]], axis=0),
      tf.one_hot([first.shape[0]], first.shape[0] + 1, dtype=tf.float64)[
        0, :, tf.newaxis
      ],
    ],
    axis=1,
  )
  return Components(projection, values / scale, count)
