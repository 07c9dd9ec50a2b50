# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Held-out labels, and the choice of a classifier by them.

Each classifier is trained on all labels, and once more without each of `FOLDS`
parts of them. These `REPLICAS` are a dimension of all weights. A replica is
scored on the labels that it was not trained on.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

FOLDS = 5
REPLICAS = 1 + FOLDS
# The classifiers to choose from, in this order.
CANDIDATES = ('labels_alone', 'mixture', 'head')
# With fewer labels held out no choice is made.
LEAST_LABELS = 10
# Above it clients' images differ, not their classes alone. Where images of
# digits are brightened, rotated or blurred it is 0.0056 or more, where clients
# are writers 0.016 or more, and 0.0047 or less where examples were dealt out at
# random, but for long tails of labels and clients of a few examples.
GREATEST_SPREAD = 0.0055
# More than writers differ (at most 0.0253).
FOREIGN_SPREAD = 0.026
# Clients' examples for each label, below which nothing is learned from them.
LEAST_EXAMPLES = 2
# Standard errors by which a head has to be likelier.
_ERRORS_AHEAD = 0.5
# A class without any label counts as half a label, because a share is above 0.
_ABSENT = 0.5
_TEMPERATURES = np.geomspace(0.05, 20, 61)
# Of the logarithm of a temperature before any label, mean and deviation. Models
# without a fold are right less often than the exported one, of all labels.
_LOG_TEMPERATURE, _LOG_TEMPERATURE_DEVIATION = -0.3, 0.3


class Scores(NamedTuple):
  """How candidates do on held-out labels.

  Attributes:
    num_held_out: float64 scalar, the number of held-out labels.
    num_right: float64 [candidates], how many of these are predicted correctly.
    likelihood: float64 [candidates], the mean log-likelihood at the best
      temperature.
    temperature: float64 [candidates], by which logits are to be divided.
    is_mixture_behind: bool scalar, whether the labels alone are better than the
      mixture by more than the standard error of the difference, in right labels
      or in likelihood.
    is_head_likelier: bool scalar, whether the head is likelier than both others
      by half of that error.
  """

  num_held_out: tf.Tensor
  num_right: tf.Tensor
  likelihood: tf.Tensor
  temperature: tf.Tensor
  is_mixture_behind: tf.Tensor
  is_head_likelier: tf.Tensor


class Labels(NamedTuple):
  """The server's labels.

  Attributes:
    x: float64 [labels, components].
    targets: float64 [labels, classes], one-hot.
    weights: float64 [replicas, labels], the result of `weigh`.
  """

  x: tf.Tensor
  targets: tf.Tensor
  weights: tf.Tensor

  @property
  def shares(self) -> tf.Tensor:
    """The share of each class among the labels, float64 [classes]."""
    counts = tf.maximum(tf.reduce_sum(self.targets, axis=0), _ABSENT)
    return counts / tf.reduce_sum(counts)


def assign(targets: tf.Tensor) -> tf.Tensor:
  """The fold of each label, int32 [labels]; -1 for a class with one label.

  The numbers of labels of a class in two folds differ by 1 at most.

  Args:
    targets: float64 [labels, classes], one-hot.
  """
  counts = tf.reduce_sum(targets, axis=0)
  # The next class goes on where the one before it stopped.
  starts = tf.cumsum(counts, exclusive=True)
  place = tf.cumsum(targets, axis=0, exclusive=True) + starts
  fold = tf.cast(tf.reduce_sum(targets * place, axis=1), tf.int32) % FOLDS
  is_only = tf.linalg.matvec(targets, counts) < 2
  return tf.where(is_only, -1, fold)


def weigh(targets: tf.Tensor) -> tf.Tensor:
  """The weights of labels in each replica, float64 [replicas, labels].

  A label that a replica holds out has weight 0, and other labels of its class
  weigh more, so that a class weighs the same in all replicas.
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


def select(logits: tf.Tensor, fold: tf.Tensor) -> tf.Tensor:
  """The logits of each label by the replica without it.

  Args:
    logits: float64 [..., replicas, labels, classes].
    fold: The result of `assign`.

  Returns:
    float64 [..., labels, classes]; by replica 0 for a label that is never held
    out.
  """
  replica = tf.one_hot(fold + 1, REPLICAS, dtype=logits.dtype)
  return tf.einsum('...rlc,lr->...lc', logits, replica)


def score(logits: tf.Tensor, targets: tf.Tensor) -> Scores:
  """Scores candidates.

  Args:
    logits: float64 [candidates, replicas, labels, classes].
    targets: float64 [labels, classes], one-hot.
  """
  fold = assign(targets)
  is_held_out = tf.cast(fold >= 0, targets.dtype)
  found = select(logits, fold)
  count = tf.reduce_sum(is_held_out)
  right = is_held_out * tf.cast(
    tf.equal(tf.argmax(found, axis=-1), tf.argmax(targets, axis=-1)),
    targets.dtype,
  )
  temperatures = tf.constant(_TEMPERATURES, targets.dtype)
  tempered = found / temperatures[:, tf.newaxis, tf.newaxis, tf.newaxis]
  # [temperatures, candidates, labels]
  logarithms = is_held_out * tf.reduce_sum(
    targets * tf.nn.log_softmax(tempered), axis=-1
  )
  totals = tf.reduce_sum(logarithms, axis=-1)
  best = tf.argmax(totals, axis=0)
  deviation = tf.math.log(temperatures) - _LOG_TEMPERATURE
  prior = -0.5 * (deviation / _LOG_TEMPERATURE_DEVIATION) ** 2
  likely = tf.argmax(totals + prior[:, tf.newaxis], axis=0)
  logarithm = tf.gather(
    tf.transpose(logarithms, [1, 0, 2]), best, axis=1, batch_dims=1
  )
  return Scores(
    count,
    tf.reduce_sum(right, axis=-1),
    tf.math.divide_no_nan(tf.reduce_sum(logarithm, axis=-1), count),
    tf.gather(temperatures, likely),
    _is_less(right[1] - right[0], is_held_out)
    | _is_less(logarithm[1] - logarithm[0], is_held_out),
    tf.reduce_all(
      _is_less(logarithm[:2] - logarithm[2], is_held_out, _ERRORS_AHEAD)
    ),
  )


def _is_less(
  differences: tf.Tensor, is_held_out: tf.Tensor, num_errors: float = 1.0
) -> tf.Tensor:
  """Whether sums of differences are below 0 by `num_errors` standard errors."""
  count = tf.maximum(tf.reduce_sum(is_held_out), 1)
  total = tf.reduce_sum(differences, axis=-1)
  mean = total[..., tf.newaxis] / count
  squares = tf.reduce_sum(is_held_out * (differences - mean) ** 2, axis=-1)
  return total < -num_errors * tf.sqrt(squares)


def can_choose(targets: tf.Tensor) -> tf.Tensor:
  """Whether there are enough labels to choose a classifier, a bool scalar."""
  return tf.reduce_all(assign(targets) >= 0) & (
    tf.shape(targets)[0] >= LEAST_LABELS
  )


def images_differ(
  spread: tf.Tensor | float, server_spread: tf.Tensor | float
) -> tf.Tensor | bool:
  """Whether images differ too much between clients to choose by labels, a bool.

  Args:
    spread: See `client_sums.Means`, averaged over clients.
    server_spread: See `choice.Choice`.
  """
  return (spread > FOREIGN_SPREAD) | (
    (spread > GREATEST_SPREAD) & (server_spread > 0)
  )


def choose(
  scores: Scores, may_choose: tf.Tensor, is_shifted: tf.Tensor
) -> tf.Tensor:
  """The index of the candidate to keep, an int32 scalar.

  The head, if it has at least as many labels right as both others and is
  likelier. Else the mixture, unless the labels alone are better.

  Args:
    scores: The scores.
    may_choose: Whether labels and examples are enough for a choice.
    is_shifted: Whether `images_differ`: labels of one site do not say then what
      is right at others.
  """
  right = scores.num_right
  takes_head = scores.is_head_likelier & (right[2] >= tf.reduce_max(right[:2]))
  takes_mixture = ~scores.is_mixture_behind
  kept = tf.where(takes_head, 2, tf.cast(takes_mixture, tf.int32))
  return tf.where(may_choose & ~is_shifted, kept, 0)
