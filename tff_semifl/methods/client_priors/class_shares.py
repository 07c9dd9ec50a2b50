# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The class shares of a client, from what a model says of its examples.

The shares pi of the classes among a client's examples are drawn from a
Dirichlet distribution with parameters alpha. Variational Bayes finds the
posteriors of the classes of all examples and of pi together, as it does for the
words of a document and its topics.

References:
  Blei, Ng, Jordan. Latent Dirichlet allocation. JMLR, 2003.
"""

from typing import NamedTuple

import tensorflow as tf

# Of variational Bayes, each time from alpha: enough for shares to settle.
_ITERATIONS = 6
# Bounds of the strength: at the upper one clients are alike.
LEAST_STRENGTH, GREATEST_STRENGTH = 0.1, 1000.0
_BISECTIONS = 40
# Of `evidence`, in nats an example, below which clients are alike. Digits and
# CIFAR-10 with clients that are alike have 0 or less, and with Dirichlet(0.5)
# 0.2 or more.
LEAST_EVIDENCE = 0.02


class ClassShares(NamedTuple):
  """What a client finds of its classes.

  Attributes:
    posteriors: float [examples, classes], the probability of each class.
    log_shares: float [classes], the expected logarithms of the shares.
    parameters: float [classes], of the Dirichlet distribution of the shares.
  """

  posteriors: tf.Tensor
  log_shares: tf.Tensor
  parameters: tf.Tensor


def find(logits: tf.Tensor, alpha: tf.Tensor) -> ClassShares:
  """Finds the class shares of a client.

  Args:
    logits: float [examples, classes], log p(example | class), but for a number
      of each example. There may be no example.
    alpha: float [classes], parameters of the shares before any example.
  """
  count = tf.cast(tf.shape(logits)[0], logits.dtype)

  def iterate(parameters: tf.Tensor, _):
    posteriors = tf.nn.softmax(logits + _expected_logarithm(parameters))
    return alpha + tf.reduce_sum(posteriors, axis=0), posteriors

  parameters, posteriors = tf.while_loop(
    lambda *_: True,
    iterate,
    (alpha * (1 + count / tf.reduce_sum(alpha)), tf.zeros_like(logits)),
    maximum_iterations=_ITERATIONS,
  )
  return ClassShares(posteriors, _expected_logarithm(parameters), parameters)


def evidence(
  logits: tf.Tensor, alpha: tf.Tensor, shares: ClassShares
) -> tf.Tensor:
  """How much likelier own class shares make a client's examples.

  A lower bound of log p(examples) with shares drawn for the client, minus that
  with the mean shares for all clients. Near 0 or below, clients are
  alike, and who has an example does not tell its class.

  Args:
    logits: As in `find`.
    alpha: As in `find`.
    shares: The result of `find`.

  Returns:
    float scalar, a sum over the examples.
  """
  parameters, log_shares = shares.parameters, shares.log_shares
  mean = tf.math.log(alpha / tf.reduce_sum(alpha))
  gain = tf.reduce_sum(
    tf.reduce_logsumexp(logits + log_shares, axis=1)
    - tf.reduce_logsumexp(logits + mean, axis=1)
  )
  divergence = (
    tf.math.lgamma(tf.reduce_sum(parameters))
    - tf.reduce_sum(tf.math.lgamma(parameters))
    - tf.math.lgamma(tf.reduce_sum(alpha))
    + tf.reduce_sum(tf.math.lgamma(alpha))
    + tf.reduce_sum((parameters - alpha) * log_shares)
  )
  return gain - divergence


def strength(mean_log_shares: tf.Tensor, mean_shares: tf.Tensor) -> tf.Tensor:
  """The Dirichlet distribution's strength that makes clients' shares likeliest.

  Args:
    mean_log_shares: float [classes], the mean of `ClassShares.log_shares` over
      clients.
    mean_shares: float [classes], m of the parameters strength * m.

  Returns:
    float scalar in `LEAST_STRENGTH`..`GREATEST_STRENGTH`: small if clients
    differ.
  """
  target = tf.reduce_sum(mean_shares * mean_log_shares)

  def bisect(low: tf.Tensor, high: tf.Tensor):
    middle = (low + high) / 2
    found = tf.exp(middle)
    slope = (
      tf.math.digamma(found)
      - tf.reduce_sum(mean_shares * tf.math.digamma(found * mean_shares))
      + target
    )
    return tf.where(slope > 0, middle, low), tf.where(slope > 0, high, middle)

  low, high = tf.while_loop(
    lambda *_: True,
    bisect,
    tuple(
      tf.math.log(tf.constant(bound, mean_shares.dtype))
      for bound in (LEAST_STRENGTH, GREATEST_STRENGTH)
    ),
    maximum_iterations=_BISECTIONS,
  )
  return tf.exp((low + high) / 2)


def _expected_logarithm(parameters: tf.Tensor) -> tf.Tensor:
  """E log pi of a Dirichlet distribution."""
  return tf.math.digamma(parameters) - tf.math.digamma(
    tf.reduce_sum(parameters)
  )
