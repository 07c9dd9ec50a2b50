# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""How clients' classes differ, from what the clients of each round report.

Sums over clients say how much clients differ, which is the strength of the
prior of their class shares, and by how much their labels together are off the
class shares of the server, which a bias of each class mends.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.methods.client_priors import class_shares

# bias <- (1 - _LEAK) bias + _STEP log(wanted / found share of each class).
_LEAK, _STEP = 0.1, 0.5
# So little is no share to divide by.
_LEAST_SHARE = 1e-6


class Estimate(NamedTuple):
  """What the server keeps of clients' classes, float32.

  The bias that is added to the logits that label is `pull * log m - push`,
  with the class shares m of the server's labels.

  Attributes:
    posteriors: [classes], the average label of clients' images in the last
      round that had any.
    log_shares: [classes], likewise of clients' `ClassShares.log_shares`.
    pull: Scalar; 0 before any client reported.
    push: [classes].
  """

  posteriors: tf.Tensor
  log_shares: tf.Tensor
  pull: tf.Tensor
  push: tf.Tensor


class Message(NamedTuple):
  """What clients are told beside weights, float32 [classes].

  Attributes:
    alpha: The parameters of clients' class shares.
    shift: What makes log p(example | class) of logits.
  """

  alpha: tf.Tensor
  shift: tf.Tensor


class Sums(NamedTuple):
  """What a client reports, float32.

  Attributes:
    posteriors: [classes], the sum of its labels.
    log_shares: [classes], `ClassShares.log_shares`.
    num_images: Scalar, the images that it labeled.
    num_clients: Scalar, 1 if there are any.
  """

  posteriors: tf.Tensor
  log_shares: tf.Tensor
  num_images: tf.Tensor
  num_clients: tf.Tensor


def start(num_classes: int) -> Estimate:
  """The estimate before any client reported."""
  zeros = tf.zeros([num_classes])
  return Estimate(zeros, zeros, tf.constant(0.0), zeros)


def tell(estimate: Estimate, shares: tf.Tensor) -> Message:
  """What clients are told.

  Args:
    estimate: The estimate.
    shares: float32 [classes], above 0, m, those of the server's labels.
  """
  # About what clients have together, so that a model that gives one class to
  # all of them is not taken for clients that differ.
  found = tf.maximum(estimate.posteriors, _LEAST_SHARE)
  strength = tf.where(
    estimate.pull > 0,
    class_shares.strength(estimate.log_shares, found / tf.reduce_sum(found)),
    tf.cast(tf.size(shares), tf.float32),
  )
  return Message(
    strength * shares,
    (estimate.pull - 1) * tf.math.log(shares) - estimate.push,
  )


def learn(estimate: Estimate, sums: Sums) -> Estimate:
  """The estimate after a round.

  Args:
    estimate: The estimate before it.
    sums: The sums of its clients, added up. Without any the estimate stays.
  """

  def update() -> Estimate:
    posteriors = sums.posteriors / sums.num_images
    return Estimate(
      posteriors,
      sums.log_shares / sums.num_clients,
      (1 - _LEAK) * estimate.pull + _STEP,
      (1 - _LEAK) * estimate.push
      + _STEP * tf.math.log(tf.maximum(posteriors, _LEAST_SHARE)),
    )

  return tf.cond(sums.num_clients > 0, update, lambda: estimate)
