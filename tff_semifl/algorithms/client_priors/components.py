# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Principal components of feature vectors, from sums over clients."""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.privacy import aggregators

# At most `MOST_COMPONENTS`, and at most one for ten examples, because a larger
# covariance cannot be estimated. With few examples, 10 to 30 components,
# because fewer lose too much.
MOST_COMPONENTS = 200
_EXAMPLES_PER_COMPONENT = 10
_ENOUGH_COMPONENTS, _LEAST_COMPONENTS = 30.0, 10.0
# With more features, only the largest eigenvectors are computed.
_MANY_FEATURES = 512
_SUBSPACE_STEPS, _SUBSPACE_SIZE = 15, 280
# A feature is constant if its variance, relative to the squared distance from
# the server's mean, is below this ratio: float32 rounding can cause such a
# variance.
_LEAST_PART_OF_VARIANCE = 1e-6


class Moments(NamedTuple):
  """Sums over centered examples x, float."""

  count: tf.Tensor  # Scalar, the number of examples.
  first: tf.Tensor  # [features], the sum of x.
  second: tf.Tensor  # [features, features], the sum of x x^T.


class Components(NamedTuple):
  """Principal components, float64, scaled to a mean variance of 1.

  One factor scales all components. `basis` projects centered examples to
  components. Unused columns of `basis`, and their variances, are zero.
  """

  center: tf.Tensor  # [features], the mean of the examples.
  basis: tf.Tensor  # [features, components]
  variances: tf.Tensor  # [components], of all examples.
  count: tf.Tensor  # Scalar, the number of examples.


def measure(x: tf.Tensor, center: tf.Tensor) -> Moments:
  """The moments of a client's examples, float32 [examples, features].

  A `center` near the mean of all examples keeps float32 sums accurate. All sums
  are 0 if any number is not finite.
  """
  x -= center
  moments = Moments(
    tf.cast(tf.shape(x)[0], x.dtype),
    tf.reduce_sum(x, axis=0),
    tf.matmul(x, x, transpose_a=True),
  )
  return aggregators.zero_unless(aggregators.has_finite_norm(moments), moments)


def count_components(num_features: int) -> int:
  """The number of columns of `Components.basis`, used or not."""
  return min(MOST_COMPONENTS, num_features)


def project(x: tf.Tensor, components: Components) -> tf.Tensor:
  """Projects examples to components, float64 [examples, components]."""
  return (tf.cast(x, tf.float64) - components.center) @ components.basis


def to_raw(weights: tf.Tensor, components: Components) -> tf.Tensor:
  """Converts weights for components to weights for raw features.

  Weights are float64 [size + 1, classes], with the bias in the last row.
  """
  kernel = components.basis @ weights[:-1]
  bias = weights[-1] - tf.linalg.matvec(
    kernel, components.center, transpose_a=True
  )
  return tf.concat([kernel, bias[tf.newaxis]], axis=0)


def find(
  moments: Moments,
  center: tf.Tensor,
  is_used: tf.Tensor,
  standardizes: tf.Tensor,
) -> Components:
  """Finds the components of all examples, from moments about `center`.

  `center` is float64 [features]. `is_used`, bool [features], selects features;
  constant features are never used. `standardizes`, a bool scalar, is whether
  features are divided by their standard deviation.
  """
  count, first, second = (tf.cast(each, tf.float64) for each in moments)
  mean = first / count
  covariance = second / count - mean[:, tf.newaxis] * mean
  variance = tf.linalg.diag_part(covariance)
  is_used &= variance > _LEAST_PART_OF_VARIANCE * mean**2
  scale = tf.where(
    is_used,
    tf.where(standardizes, tf.math.rsqrt(variance), tf.ones_like(variance)),
    tf.zeros_like(variance),
  )
  covariance *= scale[:, tf.newaxis] * scale
  size = count_components(first.shape[0])
  values, vectors = _find_largest(covariance, size)
  num_used = tf.maximum(
    count / _EXAMPLES_PER_COMPONENT,
    tf.clip_by_value(count / 2, _LEAST_COMPONENTS, _ENOUGH_COMPONENTS),
  )
  used = tf.cast(tf.range(size), tf.float64) < num_used
  # Rounding turns eigenvalues of 0 into tiny numbers of either sign.
  used &= values > 1e-9 * values[0]
  is_component = tf.cast(used, tf.float64)
  values *= is_component
  unit = tf.maximum(
    tf.math.divide_no_nan(tf.reduce_sum(values), tf.reduce_sum(is_component)),
    1e-300,
  )
  basis = scale[:, tf.newaxis] * vectors * is_component / tf.sqrt(unit)
  return Components(center + mean, basis, values / unit, count)


def _find_largest(
  covariance: tf.Tensor, size: int
) -> tuple[tf.Tensor, tf.Tensor]:
  """The largest eigenvalues, in descending order, and their eigenvectors."""
  num_features = covariance.shape[0]
  if num_features <= _MANY_FEATURES:
    values, vectors = tf.linalg.eigh(covariance)
  else:
    # Subspace iteration: all eigenvectors of 5,000 features take minutes.
    start = tf.random.stateless_normal(
      [num_features, _SUBSPACE_SIZE], seed=(0, 0), dtype=tf.float64
    )
    basis = tf.while_loop(
      lambda *_: True,
      lambda basis: (tf.linalg.qr(covariance @ basis).q,),
      (tf.linalg.qr(start).q,),
      maximum_iterations=_SUBSPACE_STEPS,
    )[0]
    values, rotation = tf.linalg.eigh(
      tf.matmul(basis, covariance @ basis, transpose_a=True)
    )
    vectors = basis @ rotation
  return values[::-1][:size], vectors[:, ::-1][:, :size]
