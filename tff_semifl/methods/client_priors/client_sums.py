# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a client of client priors computes in a round, and sends.

It sends sums over its examples alone: (features + 3) x classes numbers and a
few more, whatever the number of examples.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.methods.client_priors import class_shares


class Received(NamedTuple):
  """What a client receives.

  Weights are float32 [features + 1, classes], with a bias in the last row.

  Attributes:
    teacher: The classifier that its class shares are estimated with, of logits
      log p(example | class).
    alpha: float32 [classes], parameters of clients' class shares.
    head: The classifier that is being trained.
    is_trained: float32 scalar, 1 if the head is trained in this round, and 0 in
      rounds that estimate the teacher.
  """

  teacher: tf.Tensor
  alpha: tf.Tensor
  head: tf.Tensor
  is_trained: tf.Tensor


class Means(NamedTuple):
  """What the server gets: means over the examples of a client.

  Attributes:
    posteriors: float32 [classes], of the posteriors.
    log_shares: float32 [classes], the expected logarithms of its class shares.
    matrix: float32 [features + 1, classes], of x times the posteriors; where a
      head is trained, its probabilities are subtracted from the posteriors.
    variance: float32 [classes], of p (1 - p) of the head's probabilities.
    evidence: float32 scalar, of `class_shares.evidence`.
  """

  posteriors: tf.Tensor
  log_shares: tf.Tensor
  matrix: tf.Tensor
  variance: tf.Tensor
  evidence: tf.Tensor


class Measurements(NamedTuple):
  """Sums over the examples of a client, to be shown.

  Attributes:
    count: float32 scalar, its examples.
    loss: float32 scalar, cross-entropy of the classifier and the posteriors.
    num_agreed: float32 scalar, examples whose prediction by the head is their
      most probable class.
    num_rejected: float32 scalar, 1 if anything of it was not finite.
  """

  count: tf.Tensor
  loss: tf.Tensor
  num_agreed: tf.Tensor
  num_rejected: tf.Tensor


def compute(
  x: tf.Tensor, received: Received
) -> tuple[Means, Measurements, tf.Tensor]:
  """Computes what a client sends.

  Args:
    x: float32 [examples, features]. There may be no example.
    received: From the server.

  Returns:
    The means, all 0 if anything is not finite, and without an example all 0 but
    for the expected logarithms of the prior; the measurements, all 0 in both
    cases; and int32 [examples], the most probable class of
    each example.
  """
  # Both at once: most of the time goes into reading x.
  weights = tf.concat([received.teacher, received.head], axis=1)
  logits, head_logits = tf.split(x @ weights[:-1] + weights[-1], 2, axis=1)
  shares = class_shares.find(logits, received.alpha)
  probabilities = tf.nn.softmax(head_logits)
  count = tf.cast(tf.shape(x)[0], tf.float32)
  of_one = tf.math.divide_no_nan(1.0, count)
  targets = shares.posteriors - received.is_trained * probabilities
  labels = tf.argmax(shares.posteriors, axis=1, output_type=tf.int32)
  predicted = tf.argmax(head_logits, axis=1, output_type=tf.int32)
  means = Means(
    of_one * tf.reduce_sum(shares.posteriors, axis=0),
    shares.log_shares,
    of_one
    * tf.concat(
      [
        # An eighth of a round faster than x^T targets.
        tf.transpose(tf.matmul(targets, x, transpose_a=True)),
        tf.reduce_sum(targets, axis=0, keepdims=True),
      ],
      axis=0,
    ),
    of_one * tf.reduce_sum(probabilities * (1 - probabilities), axis=0),
    of_one * class_shares.evidence(logits, received.alpha, shares),
  )
  measured = Measurements(
    count,
    tf.reduce_sum(
      tf.nn.softmax_cross_entropy_with_logits(shares.posteriors, head_logits)
    ),
    tf.math.count_nonzero(tf.equal(predicted, labels), dtype=tf.float32),
    tf.constant(0.0),
  )
  is_sound = tf.reduce_all(
    [
      tf.reduce_all(tf.math.is_finite(each))
      for each in tf.nest.flatten((means, measured))
    ]
  )
  # Zero times infinity is not zero: choose, do not multiply.
  means, measured = tf.nest.map_structure(
    lambda each: tf.where(is_sound, each, tf.zeros_like(each)),
    (means, measured),
  )
  rejected = tf.cast(~is_sound, tf.float32)
  return means, measured._replace(num_rejected=rejected), labels
