# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The M-step of the Gaussian mixture of `client_priors`.

An example x of class c at client k is mu_c + delta_k + noise. All classes share
the covariance of the noise. The variance of the client's offset delta_k is
`spread` times the variance of the examples.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.algorithms.client_priors import server_labels

# The weight of a labeled example; an example of a client has weight 1.
LABEL_WEIGHT = 3.0
# The share of an isotropic matrix in the estimated covariance (shrinkage).
_ISOTROPIC = 0.05
# The least eigenvalue of the covariance, whose mean variance is 1. If clients
# drop out, an estimated eigenvalue may be negative.
_LEAST_VARIANCE = 1e-3
# Added to variances before `measure_spread` divides by them, so that components
# with little variance do not dominate. Variances have mean 1.
_SOFTENING = 0.1


class Mixture(NamedTuple):
  """Gaussian mixtures, one per replica (`server_labels`), float64.

  The weights give log p(x | class), with the bias in the last row.
  """

  weights: tf.Tensor  # [replicas, components + 1, classes]
  means: tf.Tensor  # [replicas, components, classes]


def fit(
  labels: server_labels.Labels,
  posteriors: tf.Tensor,
  products: tf.Tensor,
  variances: tf.Tensor,
) -> Mixture:
  """Fits mixtures in closed form, by maximum likelihood with shrinkage.

  Arguments other than `labels` are float64 sums over clients' examples x, which
  are vectors of principal components: `posteriors`, [replicas, classes];
  `products`, [replicas, components, classes], of x times posteriors; and
  `variances`, [components], of x squared.
  """
  x, targets = labels.x, labels.targets
  label_weights = labels.weights * LABEL_WEIGHT
  counts = posteriors + label_weights @ targets
  means = (
    products + tf.einsum('rl,lc,ld->rdc', label_weights, targets, x)
  ) / counts[:, tf.newaxis]
  total = tf.linalg.diag(variances) + tf.einsum(
    'rl,ld,le->rde', label_weights, x, x
  )
  between = tf.matmul(means * counts[:, tf.newaxis], means, transpose_b=True)
  within = (total - between) / tf.reduce_sum(counts, axis=1)[
    :, tf.newaxis, tf.newaxis
  ]
  is_used = tf.cast(variances > 0, x.dtype)
  size = tf.reduce_sum(is_used)
  isotropic = tf.linalg.trace(within) / size
  within = (1 - _ISOTROPIC) * within + _ISOTROPIC * isotropic[
    :, tf.newaxis, tf.newaxis
  ] * tf.linalg.diag(is_used)
  values, vectors = tf.linalg.eigh(within)
  # Unused components have variance 0.
  values = tf.maximum(values, _LEAST_VARIANCE)[:, tf.newaxis]
  weights = (vectors / values) @ tf.matmul(vectors, means, transpose_a=True)
  bias = -0.5 * tf.reduce_sum(means * weights, axis=1, keepdims=True)
  return Mixture(tf.concat([weights, bias], axis=1), means)


def measure_spread(residual: tf.Tensor, variances: tf.Tensor) -> tf.Tensor:
  """The squared norm of residuals, relative to that of examples, float [...].

  `residual`, [..., components], is the mean of n examples minus the mean that
  their classes predict. Without a client offset the result is about 1 / n.
  `variances` are the variances of all examples, 0 for unused components.
  """
  is_used = tf.cast(variances > 0, variances.dtype)
  weights = tf.math.divide_no_nan(is_used, variances + _SOFTENING * is_used)
  return tf.math.divide_no_nan(
    tf.reduce_sum(residual**2 * weights, axis=-1),
    tf.reduce_sum(weights * variances),
  )
