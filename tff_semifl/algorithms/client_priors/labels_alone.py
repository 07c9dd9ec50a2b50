# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Classifiers trained on the server's labels alone."""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.algorithms.client_priors import held_out
from tff_semifl.algorithms.client_priors import logistic_regression

_PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# Where nothing can be held out.
_USUAL_PENALTY = 3.0
# Labels that penalty and scale are chosen by.
_MOST_LABELS = 1000
# A column whose variance is a smaller part of its squared mean is constant.
_LEAST_PART_OF_VARIANCE = 1e-13


class Fitted(NamedTuple):
  """Logistic regressions on the labels.

  Attributes:
    weights: float64 [replicas, features + 1, classes], for raw features.
    standardizes: bool scalar, whether features were standardized for the fit.
  """

  weights: tf.Tensor
  standardizes: tf.Tensor


class _Coordinates(NamedTuple):
  """Labeled examples in coordinates of mean variance 1.

  Attributes:
    x: float64 [labels, coordinates].
    basis: float64 [features, coordinates], which projects centered examples.
  """

  x: tf.Tensor
  basis: tf.Tensor


def varies(x: tf.Tensor) -> tf.Tensor:
  """Whether each feature varies among examples `x`, bool [features]."""
  mean, variance = tf.nn.moments(x, axes=0)
  return variance > _LEAST_PART_OF_VARIANCE * mean**2


def fit(x: tf.Tensor, targets: tf.Tensor) -> Fitted:
  """Fits a regression on all labels, and one without each fold of them.

  The likelihood of held-out labels chooses the penalty, and whether features
  are standardized.

  Args:
    x: float64 [labels, features].
    targets: float64 [labels, classes], one-hot.
  """
  can_choose = tf.reduce_any(held_out.assign(targets) >= 0)
  both = [
    _find_coordinates(x, tf.constant(standardizes))
    for standardizes in (False, True)
  ]
  likelihoods = tf.stack([_score_penalties(each.x, targets) for each in both])
  best = tf.argmax(tf.reshape(likelihoods, [-1]), output_type=tf.int32)
  penalty = tf.where(
    can_choose,
    tf.gather(tf.constant(_PENALTIES, x.dtype), best % len(_PENALTIES)),
    tf.constant(_USUAL_PENALTY, x.dtype),
  )
  standardizes = can_choose & (best >= len(_PENALTIES))
  chosen = tf.cond(standardizes, lambda: both[1], lambda: both[0])
  found = logistic_regression.fit(
    chosen.x,
    targets,
    held_out.weigh(targets),
    tf.fill([held_out.REPLICAS], penalty),
  )
  kernel = tf.einsum('fd,rdc->rfc', chosen.basis, found[:, :-1])
  bias = found[:, -1] - tf.einsum(
    'f,rfc->rc', tf.reduce_mean(x, axis=0), kernel
  )
  return Fitted(tf.concat([kernel, bias[:, tf.newaxis]], axis=1), standardizes)


def _find_coordinates(x: tf.Tensor, standardizes: tf.Tensor) -> _Coordinates:
  """Centers examples, and rotates them where they are fewer than features."""
  mean, variance = tf.nn.moments(x, axes=0)
  scale = tf.where(
    varies(x),
    tf.where(standardizes, tf.math.rsqrt(variance), tf.ones_like(variance)),
    tf.zeros_like(variance),
  )
  count, num_features = tf.shape(x)[0], tf.shape(x)[1]
  centered = (x - mean) * scale
  rank = tf.cast(tf.maximum(tf.minimum(count - 1, num_features), 1), x.dtype)
  unit = tf.maximum(
    tf.reduce_sum(centered**2) / (tf.cast(count, x.dtype) * rank), 1e-300
  )
  centered /= tf.sqrt(unit)

  def rotate() -> _Coordinates:
    values, vectors = tf.linalg.eigh(
      tf.matmul(centered, centered, transpose_b=True)
    )
    is_used = values > 1e-9 * values[-1]
    lengths = tf.sqrt(tf.where(is_used, values, tf.ones_like(values)))
    basis = tf.where(
      is_used, tf.matmul(centered, vectors, transpose_a=True) / lengths, 0
    )
    return _Coordinates(centered @ basis, basis)

  # A penalty of squared lengths is the same in all rotations.
  found = tf.cond(
    count < num_features,
    rotate,
    lambda: _Coordinates(centered, tf.eye(num_features, dtype=x.dtype)),
  )
  return found._replace(
    basis=scale[:, tf.newaxis] * found.basis / tf.sqrt(unit)
  )


def _score_penalties(x: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
  """The log-likelihood of held-out labels for each penalty."""
  # Some of each class.
  place = tf.reduce_sum(
    targets * tf.cumsum(targets, axis=0, exclusive=True), axis=1
  )
  chosen = tf.argsort(place, stable=True)[:_MOST_LABELS]
  x, targets = tf.gather(x, chosen), tf.gather(targets, chosen)
  fold = held_out.assign(targets)
  weights = held_out.weigh(targets)[1:]
  count = len(_PENALTIES)
  found = logistic_regression.fit(
    x,
    targets,
    tf.repeat(weights, count, axis=0),
    tf.tile(tf.constant(_PENALTIES, x.dtype), [held_out.FOLDS]),
  )
  logarithms = tf.reduce_sum(
    targets * tf.nn.log_softmax(logistic_regression.with_ones(x) @ found),
    axis=-1,
  )
  by_fold = tf.reshape(logarithms, [held_out.FOLDS, count, -1])
  is_held_out = tf.one_hot(fold, held_out.FOLDS, axis=0, dtype=x.dtype)
  return tf.einsum('fpl,fl->p', by_fold, is_held_out)
