# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Cross-validation folds of the server's labels, and regressions on the labels.

Each classifier has `REPLICAS` replicas: one is trained on all labels, and one
without each of the `FOLDS` folds. All weights have a dimension for replicas.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.label_shift import share_prior

FOLDS = 5
REPLICAS = 1 + FOLDS
_PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# The penalty where fewer than half of the labels can be held out. Larger ones
# are as accurate, but badly calibrated.
_USUAL_PENALTY = 0.3
# The number of labels that choose penalty and scale.
_MOST_LABELS = 1000
# A feature is constant if variance / squared mean is below this ratio.
_LEAST_PART_OF_VARIANCE = 1e-13


class Labels(NamedTuple):
  """The server's labeled examples, float64."""

  x: tf.Tensor  # [labels, components]
  targets: tf.Tensor  # [labels, classes], one-hot.
  weights: tf.Tensor  # [replicas, labels], from `weigh`.

  @property
  def shares(self) -> tf.Tensor:
    """The share of each class among the labels, float64 [classes]."""
    return share_prior.shares_of_counts(tf.reduce_sum(self.targets, axis=0))


def assign(targets: tf.Tensor) -> tf.Tensor:
  """The fold of each label, int32 [labels]; -1 for a class with one label.

  All folds have equally many labels of a class, give or take one.
  """
  counts = tf.reduce_sum(targets, axis=0)
  # Folds are assigned in turn across classes, so that folds have equal sizes.
  starts = tf.cumsum(counts, exclusive=True)
  place = tf.cumsum(targets, axis=0, exclusive=True) + starts
  fold = tf.cast(tf.reduce_sum(targets * place, axis=1), tf.int32) % FOLDS
  is_only = tf.linalg.matvec(targets, counts) < 2
  return tf.where(is_only, -1, fold)


def weigh(targets: tf.Tensor) -> tf.Tensor:
  """The weights of labels in each replica, float64 [replicas, labels].

  Held-out labels have weight 0. The other labels of their class weigh more, so
  that a class has the same total weight in all replicas.
  """
  fold = assign(targets)
  replicas = tf.range(-1, FOLDS)[:, tf.newaxis]
  is_kept = tf.cast(
    tf.not_equal(fold, replicas) | tf.less(replicas, 0), targets.dtype
  )
  ratio = tf.math.divide_no_nan(
    tf.reduce_sum(targets, axis=0), is_kept @ targets
  )
  return is_kept * tf.matmul(ratio, targets, transpose_b=True)


class Fitted(NamedTuple):
  """Logistic regressions on the server's labels alone."""

  weights: tf.Tensor  # float64 [replicas, features + 1, classes], raw features.
  standardizes: tf.Tensor  # Whether features were standardized, a bool scalar.


def varies(x: tf.Tensor) -> tf.Tensor:
  """Whether each feature varies among the examples `x`, bool [features]."""
  mean, variance = tf.nn.moments(x, axes=0)
  return variance > _LEAST_PART_OF_VARIANCE * mean**2


def fit(x: tf.Tensor, targets: tf.Tensor) -> Fitted:
  """Fits a regression on all labels, and one without each fold.

  If at least half of the labels can be held out, cross-validation chooses the
  penalty, and whether features are standardized. `x` is float64 [labels,
  features], `targets` are one-hot.
  """
  # If only a few classes had held-out labels, these classes would be favored.
  can_choose = tf.reduce_mean(tf.cast(assign(targets) >= 0, x.dtype)) >= 0.5
  both = [
    _find_coordinates(x, tf.constant(standardizes))
    for standardizes in (False, True)
  ]
  likelihoods = tf.stack([_score_penalties(each, targets) for each, _ in both])
  best = tf.argmax(tf.reshape(likelihoods, [-1]), output_type=tf.int32)
  penalty = tf.where(
    can_choose,
    tf.gather(tf.constant(_PENALTIES, x.dtype), best % len(_PENALTIES)),
    tf.constant(_USUAL_PENALTY, x.dtype),
  )
  standardizes = can_choose & (best >= len(_PENALTIES))
  coordinates, basis = tf.cond(standardizes, lambda: both[1], lambda: both[0])
  found = linear_classifiers.fit(
    coordinates, targets, weigh(targets), tf.fill([REPLICAS], penalty)
  )
  kernel = tf.einsum('fd,rdc->rfc', basis, found[:, :-1])
  bias = found[:, -1] - tf.einsum(
    'f,rfc->rc', tf.reduce_mean(x, axis=0), kernel
  )
  return Fitted(tf.concat([kernel, bias[:, tf.newaxis]], axis=1), standardizes)


def _find_coordinates(
  x: tf.Tensor, standardizes: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
  """Projects centered examples to min(labels, features) coordinates.

  Returns the coordinates, float64 [labels, coordinates], of mean variance 1,
  and the basis, float64 [features, coordinates], which projects examples.
  """
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

  def rotate() -> tuple[tf.Tensor, tf.Tensor]:
    values, vectors = tf.linalg.eigh(
      tf.matmul(centered, centered, transpose_b=True)
    )
    is_used = values > 1e-9 * values[-1]
    lengths = tf.sqrt(tf.where(is_used, values, tf.ones_like(values)))
    basis = tf.where(
      is_used, tf.matmul(centered, vectors, transpose_a=True) / lengths, 0
    )
    return centered @ basis, basis

  # Rotating the weights does not change their squared norm, the penalty.
  coordinates, basis = tf.cond(
    count < num_features,
    rotate,
    lambda: (centered, tf.eye(num_features, dtype=x.dtype)),
  )
  return coordinates, scale[:, tf.newaxis] * basis / tf.sqrt(unit)


def _score_penalties(x: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
  """The log-likelihood of held-out labels for each penalty."""
  # The first labels of every class.
  place = tf.reduce_sum(
    targets * tf.cumsum(targets, axis=0, exclusive=True), axis=1
  )
  chosen = tf.argsort(place, stable=True)[:_MOST_LABELS]
  x, targets = tf.gather(x, chosen), tf.gather(targets, chosen)
  count = len(_PENALTIES)
  found = linear_classifiers.fit(
    x,
    targets,
    tf.repeat(weigh(targets)[1:], count, axis=0),
    tf.tile(tf.constant(_PENALTIES, x.dtype), [FOLDS]),
  )
  logarithms = tf.reduce_sum(
    targets * tf.nn.log_softmax(linear_classifiers.with_ones(x) @ found),
    axis=-1,
  )
  by_fold = tf.reshape(logarithms, [FOLDS, count, -1])
  is_held_out = tf.one_hot(assign(targets), FOLDS, axis=0, dtype=x.dtype)
  return tf.einsum('fpl,fl->p', by_fold, is_held_out)
