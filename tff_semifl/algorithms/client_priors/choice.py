# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Chooses the classifier to export: labels alone, mixture or head.

Cross-validation on the server's labels compares the candidates.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.algorithms.client_priors import mixture
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state
from tff_semifl.label_shift import class_shares

# The classifiers to choose from, in this order.
CANDIDATES = ('labels_alone', 'mixture', 'head')
# The setting with which the candidate is chosen, not named.
CHOSEN = 'chosen'
# With fewer held-out labels, these make no choice.
LEAST_LABELS = 10
# A spread above which clients' images differ, not only their classes. It is at
# least 0.0056 where digits are brightened, rotated or blurred, and at least
# 0.016 where clients are writers. A random partition of digits rarely has more
# than 0.0047, and at most 0.0081.
GREATEST_SPREAD = 0.0055
# Clients who are writers have a spread of at most 0.0253.
FOREIGN_SPREAD = 0.026
# If both learners label at least this fraction of clients' examples alike, the
# labels are probably right, even with a large spread. Learners agree on at most
# 70% where digits are brightened, rotated or blurred, and on at least 96% where
# only chance makes the spread of digits large.
LEAST_AGREEMENT = 0.9
# Bounds of `measure_share_gap`: up to the first, the head is better than the
# mixture if clients differ; above the second worse; between them it is either.
# If labels and clients have the same shares, the gap is at most 0.07 with 50
# labels of digits, and 0.21 with 60 labels of CIFAR-10's features.
_SMALL_SHARE_GAP, GREATEST_SHARE_GAP = 0.08, 0.25
# A prior of class shares so strong that a client's examples do not change it.
WITHOUT_OWN_SHARES = 1e6
# With fewer client examples for each label, the labels alone are kept.
LEAST_EXAMPLES = 2
# The head's lead in likelihood that a choice needs, in standard errors.
_ERRORS_AHEAD = 0.5
_TEMPERATURES = np.geomspace(0.05, 20, 61)
# The normal prior of log temperature. Its mean is below 0 because models
# without a fold are right less often than a model of all labels.
_LOG_TEMPERATURE, _LOG_TEMPERATURE_DEVIATION = -0.3, 0.3


class Scores(NamedTuple):
  """The scores of candidates on held-out labels, float64 unless noted."""

  num_held_out: tf.Tensor  # Scalar.
  num_right: tf.Tensor  # [candidates]
  likelihood: tf.Tensor  # [candidates], mean log, at the best temperature.
  temperature: tf.Tensor  # [candidates], divides the logits.
  is_behind: tf.Tensor  # bool [candidates], by more than a standard error.
  is_head_ahead: tf.Tensor  # bool scalar.


class Choice(NamedTuple):
  """The chosen classifier, and the evidence for it; float64 unless noted.

  `server_spread` is `client_sums.Means.spread` of the labeled examples, as if
  these were the examples of a client.
  """

  kept: tf.Tensor  # int32, the index of the classifier in `CANDIDATES`.
  weights: tf.Tensor  # [features + 1, classes], for raw features.
  temperature: tf.Tensor  # Scalar, which has divided the weights.
  has_examples: tf.Tensor  # bool, whether clients have enough examples.
  server_spread: tf.Tensor  # Scalar.
  share_gap: tf.Tensor  # Scalar, from `measure_share_gap`.
  scores: Scores
  labeler: state.Labeler


def choose(
  alone: server_labels.Fitted,
  components: components_lib.Components,
  estimate: state.Estimate,
  raw: tf.Tensor,
  labels: server_labels.Labels,
  keep: str,
) -> Choice:
  """Chooses the classifier to export.

  `raw` are the labeled examples, float64 [labels, features]. `keep` is `CHOSEN`
  or one of `CANDIDATES`.
  """
  learned = server_steps.classifiers(estimate, labels.shares)
  logits = tf.concat(
    [
      (linear_classifiers.with_ones(raw) @ alone.weights)[tf.newaxis],
      linear_classifiers.with_ones(labels.x) @ learned,
    ],
    axis=0,
  )
  scores = score(logits, labels.targets)
  num_labels = tf.cast(tf.shape(raw)[0], tf.float64)
  has_examples = components.count >= LEAST_EXAMPLES * num_labels
  residual = tf.reduce_mean(labels.x, axis=0) - tf.linalg.matvec(
    estimate.mixture.means[0], labels.shares
  )
  server_spread = (
    mixture.measure_spread(residual, components.variances) - 1 / num_labels
  )
  share_gap = measure_share_gap(estimate, labels.shares)
  agreement = measure_agreement(estimate)
  has_ended = estimate.passes >= server_steps.PASSES
  differ = images_differ(estimate.spread[0], server_spread, agreement)
  if keep == CHOSEN:
    best = find_best(
      scores,
      has_choice=can_choose(labels.targets),
      clients_differ=has_ended & ~_are_alike(estimate),
      share_gap=share_gap,
    )
    kept = tf.where(has_examples & ~differ, best, 0)
  else:
    kept = tf.constant(CANDIDATES.index(keep))
  kept = tf.where(estimate.passes > 0, kept, 0)
  all_labels = [alone.weights[0]] + [
    components_lib.to_raw(each, components)
    for each in tf.unstack(learned[:, 0])
  ]
  temperature = tf.gather(scores.temperature, kept)
  weights = tf.gather(tf.stack(all_labels), kept) / temperature
  return Choice(
    kept,
    weights,
    temperature,
    has_examples,
    server_spread,
    share_gap,
    scores,
    _find_labeler(
      estimate, components, weights, labels.shares, kept, differ
    )._replace(
      num_right=tf.where(
        can_choose(labels.targets),
        tf.gather(scores.num_right, kept),
        num_labels + 1,
      )
    ),
  )


def measure_agreement(estimate: state.Estimate) -> tf.Tensor:
  """The fraction of examples labeled alike by both learners, 0 in training."""
  return tf.where(
    estimate.passes >= server_steps.PASSES, estimate.averages.agreement, 0
  )


def measure_share_gap(estimate: state.Estimate, shares: tf.Tensor) -> tf.Tensor:
  """The distance of labels' class shares from those of clients' mixture.

  It is the total variation, from 0 to 1; 0 before round 1.
  """
  # Mean shares are moved towards the mixture's by 1 / (1 + LABELS_SAY).
  moved = tf.reduce_sum(tf.abs(estimate.shares[0] - shares)) / 2
  distance = (1 + server_steps.LABELS_SAY) * moved
  return tf.where(estimate.passes > 0, distance, 0)


def find_best(
  scores: Scores,
  *,
  has_choice: tf.Tensor,
  clients_differ: tf.Tensor,
  share_gap: tf.Tensor,
) -> tf.Tensor:
  """Finds the candidate to export, by its index in `CANDIDATES`.

  The head keeps the labels' class shares, and is not exported if clients' are
  too different. If they are similar, and clients differ from each other, it is
  exported without a lead on held-out labels.
  """
  is_sure = (share_gap <= _SMALL_SHARE_GAP) & ~scores.is_behind[2]
  is_head = tf.where(
    has_choice,
    scores.is_head_ahead | (clients_differ & is_sure),
    clients_differ,
  )
  return tf.where(
    is_head & (share_gap <= GREATEST_SHARE_GAP),
    CANDIDATES.index('head'),
    tf.where(has_choice & ~scores.is_behind[1], CANDIDATES.index('mixture'), 0),
  )


def _are_alike(estimate: state.Estimate) -> tf.Tensor:
  evidence = estimate.averages.evidence[estimate.leader]
  return evidence < class_shares.LEAST_EVIDENCE


def _find_labeler(
  estimate: state.Estimate,
  components: components_lib.Components,
  weights: tf.Tensor,
  shares: tf.Tensor,
  kept: tf.Tensor,
  differ: tf.Tensor,
) -> state.Labeler:
  """Creates the labeler from the exported classifier.

  A head is that of the leading learner, with the class biases of its training.
  Clients have no class shares of their own if clients are alike, or if images
  differ between clients: estimated shares would then confirm mistakes.
  """
  leader = estimate.leader
  is_head = tf.equal(kept, CANDIDATES.index('head'))
  teacher = components_lib.to_raw(
    server_steps.teachers(estimate)[leader], components
  )
  kept_weights = linear_classifiers.add_to_bias(weights, -tf.math.log(shares))
  mean = tf.where(is_head, estimate.shares[leader], shares)
  has_own_shares = ~differ & ~_are_alike(estimate)
  strength = tf.where(
    has_own_shares,
    estimate.strength[leader],
    tf.constant(WITHOUT_OWN_SHARES, tf.float64),
  )
  return state.Labeler(
    tf.where(is_head, teacher, kept_weights), strength * mean, tf.zeros([])
  )


def score(logits: tf.Tensor, targets: tf.Tensor) -> Scores:
  """Scores the candidates on held-out labels, and compares them.

  The head is ahead if it predicts at least as many labels correctly as the
  others, and its log-likelihood is higher by half a standard error. A candidate
  is behind if the labels alone are better by one standard error, in correct
  labels or in log-likelihood.

  `logits` are float64 [candidates, replicas, labels, classes]; `targets` are
  float64 [labels, classes], one-hot.
  """
  fold = server_labels.assign(targets)
  is_held_out = tf.cast(fold >= 0, targets.dtype)
  # The replica that held out the label; replica 0 if none did.
  replica = tf.one_hot(fold + 1, server_labels.REPLICAS, dtype=logits.dtype)
  found = tf.einsum('krlc,lr->klc', logits, replica)
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
  num_right = tf.reduce_sum(right, axis=-1)
  is_behind = _is_less(right - right[0], is_held_out) | _is_less(
    logarithm - logarithm[0], is_held_out
  )
  is_head_ahead = tf.reduce_all(
    _is_less(logarithm[:2] - logarithm[2], is_held_out, _ERRORS_AHEAD)
  ) & (num_right[2] >= tf.reduce_max(num_right[:2]))
  return Scores(
    count,
    num_right,
    tf.math.divide_no_nan(tf.reduce_sum(logarithm, axis=-1), count),
    tf.gather(temperatures, likely),
    is_behind,
    is_head_ahead,
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
  """Whether enough labels are held out to choose, a bool scalar."""
  return (
    tf.math.count_nonzero(server_labels.assign(targets) >= 0) >= LEAST_LABELS
  )


def images_differ(
  spread: tf.Tensor | float,
  server_spread: tf.Tensor | float,
  agreement: tf.Tensor | float,
) -> tf.Tensor | bool:
  """Whether images differ too much between clients to choose a classifier.

  The server's labels then do not tell which classifier suits the clients. A
  large spread does not count if both learners agree. `spread` is the clients'
  mean of `client_sums.Means.spread`; for `server_spread` see `Choice`, for
  `agreement` see `measure_agreement`.
  """
  is_large = (spread > FOREIGN_SPREAD) | (
    (spread > GREATEST_SPREAD) & (server_spread > 0)
  )
  return is_large & (agreement < LEAST_AGREEMENT)
