# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a client computes and sends in a round of `client_priors`.

The mixture and both heads are trained with all labels, and again without each
fold of the labels. For each training, a client sends about components x classes
numbers, whatever the number of its examples.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.algorithms.client_priors import mixture
from tff_semifl.label_shift import class_shares
from tff_semifl.privacy import aggregators


class Received(NamedTuple):
  """What a client receives, float32.

  Weights are [learners, components + 1, classes], with the bias in the last
  row. The teacher's logits, log p(example | class), give the posteriors.
  """

  center: tf.Tensor  # [features], subtracted from examples.
  basis: tf.Tensor  # [features, components], projects centered examples.
  variances: tf.Tensor  # [components], of all clients' examples.
  teacher: tf.Tensor  # Weights with which class shares are estimated.
  alpha: tf.Tensor  # [learners, classes], the prior of clients' shares.
  means: tf.Tensor  # [learners, components, classes], class means.
  spread: tf.Tensor  # [learners], the variance of client offsets.
  head: tf.Tensor  # Weights in training.
  is_trained: tf.Tensor  # [learners], 1 if the head is trained, else 0.
  leader: tf.Tensor  # Scalar, `server_steps.find_leader`.


class Means(NamedTuple):
  """What a client sends: means over its examples, float32.

  `matrix` is the mean product of examples and their posteriors. If a head is
  trained, its probabilities are subtracted from the posteriors. Examples have
  the client's offset subtracted and a 1 appended. `spread` is an unbiased
  estimate of the variance of offsets, divided by the variance of examples.
  """

  posteriors: tf.Tensor  # [learners, classes]
  log_shares: tf.Tensor  # [learners, classes], expected logarithms of shares.
  matrix: tf.Tensor  # [learners, components + 1, classes]
  evidence: tf.Tensor  # [learners], `class_shares.evidence`.
  # [learners], a head's objective on its own posteriors; `server_steps.add`
  # subtracts sum_c m_c b_c.
  objective: tf.Tensor
  spread: tf.Tensor  # [learners]
  # Scalar, the fraction labeled alike by the first learner with all labels and
  # the second learner's leading replica (replica 0 if none leads).
  agreement: tf.Tensor
  # [replicas], the fraction that a replica of the second learner labels like
  # another of its replicas, a mean over the others.
  consensus: tf.Tensor


class Measurements(NamedTuple):
  """Sums over the examples of a client, for metrics, float32 scalars."""

  count: tf.Tensor  # The number of examples.
  loss: tf.Tensor  # The cross-entropy between head and posteriors.
  num_agreed: tf.Tensor  # Examples for which head and posterior agree.
  num_rejected: tf.Tensor  # 1 if a sum of this client is not finite.


def compute(
  x: tf.Tensor, received: Received
) -> tuple[Means, Measurements, tf.Tensor]:
  """Computes a client's message from examples, float32 [examples, features].

  Returns the means, the measurements, and the most probable class of each
  example, int32 [examples]. All means are 0 if any number is not finite. For a
  client without examples, all means except `log_shares` are 0.
  """
  count = tf.cast(tf.shape(x)[0], tf.float32)
  of_one = tf.math.divide_no_nan(1.0, count)
  x = (x - received.center) @ received.basis
  padded = linear_classifiers.with_ones(x)
  logits, head_logits = tf.split(
    _apply(padded, tf.concat([received.teacher, received.head], axis=0)),
    2,
    axis=1,
  )
  mean = of_one * tf.reduce_sum(x, axis=0)
  shrinkage = count * received.spread / (1 + count * received.spread)
  kernel = received.teacher[:, :-1]
  mean_logits = tf.einsum('d,tdc->tc', mean, kernel)
  gram = tf.matmul(received.means, kernel, transpose_a=True)

  def find_shift(posteriors: tf.Tensor) -> tf.Tensor:
    """How far the client's offset, shrunk towards 0, shifts the logits."""
    explained = tf.linalg.matvec(gram, posteriors, transpose_a=True)
    return shrinkage[:, tf.newaxis] * (mean_logits - explained)

  likelihoods = class_shares.read(logits)
  shares = class_shares.find(likelihoods, received.alpha, find_shift)
  posteriors = of_one * tf.reduce_sum(shares.posteriors, axis=0)
  residual = mean - tf.linalg.matvec(received.means, posteriors)
  offset = shrinkage[:, tf.newaxis] * residual
  head_logits -= tf.einsum('td,tdc->tc', offset, received.head[:, :-1])
  of_head = class_shares.read(head_logits)
  total = tf.reduce_sum(of_head.relative, axis=-1)
  targets = (
    shares.posteriors
    - of_head.relative * (received.is_trained / total)[..., tf.newaxis]
  )
  likelihood = class_shares.bound(likelihoods, received.alpha, shares)
  matrix = of_one * _multiply(targets, padded)
  leader = tf.cast(received.leader, tf.int32)
  labels = tf.argmax(shares.posteriors, axis=-1, output_type=tf.int32)
  first, second = tf.split(labels, 2, axis=1)
  replica = tf.maximum(leader - second.shape[1], 0)
  alike = tf.equal(second[:, tf.newaxis], second[:, :, tf.newaxis])
  num_alike = tf.math.count_nonzero(alike, axis=2, dtype=tf.float32) - 1
  means = Means(
    posteriors,
    shares.log_shares,
    tf.concat(
      [
        matrix[:, :-1] - offset[..., tf.newaxis] * matrix[:, -1:],
        matrix[:, -1:],
      ],
      axis=1,
    ),
    of_one
    * (
      likelihood
      - class_shares.likelihood_if_alike(likelihoods, received.alpha, shares)
    ),
    of_one
    * (
      likelihood - tf.reduce_sum(of_head.largest + tf.math.log(total), axis=0)
    ),
    mixture.measure_spread(residual, received.variances) - of_one,
    of_one
    * tf.math.count_nonzero(
      tf.equal(first[:, 0], second[:, replica]), dtype=tf.float32
    ),
    of_one * tf.reduce_sum(num_alike, axis=0) / (second.shape[1] - 1),
  )
  shown, shown_logits = shares.posteriors[:, leader], head_logits[:, leader]
  labels = labels[:, leader]
  predicted = tf.argmax(shown_logits, axis=1, output_type=tf.int32)
  measured = Measurements(
    count,
    tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(shown, shown_logits)),
    tf.math.count_nonzero(tf.equal(predicted, labels), dtype=tf.float32),
    tf.constant(0.0),
  )
  is_sound = aggregators.has_finite_norm((means, measured))
  means, measured = aggregators.zero_unless(is_sound, (means, measured))
  rejected = tf.cast(~is_sound, tf.float32)
  return means, measured._replace(num_rejected=rejected), labels


def _apply(padded: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
  """Logits of all learners, [examples, learners, classes], by one product."""
  learners, size, classes = weights.shape
  columns = tf.reshape(tf.transpose(weights, [1, 0, 2]), [size, -1])
  return tf.reshape(padded @ columns, [-1, learners, classes])


def _multiply(targets: tf.Tensor, padded: tf.Tensor) -> tf.Tensor:
  """Sums over examples of x * targets, [learners, components + 1, classes]."""
  _, learners, classes = targets.shape
  flat = tf.reshape(targets, [-1, learners * classes])
  # Faster than padded^T flat.
  product = tf.matmul(flat, padded, transpose_a=True)
  return tf.transpose(
    tf.reshape(product, [learners, classes, padded.shape[1]]), [0, 2, 1]
  )
