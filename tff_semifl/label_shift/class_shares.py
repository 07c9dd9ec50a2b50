# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Estimates the class shares of a client from a model's predictions.

The class shares pi of a client's examples are drawn from a Dirichlet
distribution with parameters alpha. Variational Bayes finds the posterior of pi
together with the posteriors of the examples' classes (Blei, Ng, Jordan. Latent
Dirichlet allocation. JMLR, 2003). Arrays may have dimensions for several
models, between the dimensions of examples and classes.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

# Iterations of variational Bayes, after which shares hardly change.
_ITERATIONS = 6
# Bounds of the strength; at the upper bound clients are alike.
LEAST_STRENGTH, GREATEST_STRENGTH = 0.1, 1000.0
# The least logarithm of a share, relative to the largest. A lower one would let
# products with likelihoods underflow in float32.
_LEAST_LOG_SHARE = -80.0
# Clients are alike if `evidence`, in nats per example, is lower. On digits and
# CIFAR-10 it is 0 or less if clients are alike, and 0.2 or more with
# Dirichlet(0.5).
LEAST_EVIDENCE = 0.02


class Likelihoods(NamedTuple):
  """The likelihoods p(example | class), up to a factor for each example."""

  relative: tf.Tensor  # [examples, ..., classes], divided by the largest.
  largest: tf.Tensor  # [examples, ...], the largest log-likelihood.


class ClassShares(NamedTuple):
  """The posteriors of the classes of examples, and of the class shares."""

  posteriors: tf.Tensor  # [examples, ..., classes]
  log_shares: tf.Tensor  # [..., classes], expected logarithms of the shares.
  parameters: tf.Tensor  # [..., classes], of the shares' Dirichlet posterior.
  shift: tf.Tensor  # [..., classes], the result of `find_shift`.


def read(logits: tf.Tensor) -> Likelihoods:
  """Converts logits, float [examples, ..., classes], to likelihoods."""
  largest = tf.reduce_max(logits, axis=-1)
  return Likelihoods(tf.exp(logits - largest[..., tf.newaxis]), largest)


def find(
  likelihoods: Likelihoods,
  alpha: tf.Tensor,
  find_shift: Callable[[tf.Tensor], tf.Tensor] | None = None,
) -> ClassShares:
  """Finds the class shares of a client, which may have no examples.

  `alpha` are the parameters of the Dirichlet prior, float [..., classes].
  `find_shift` maps the mean posterior of the examples, float [..., classes], to
  a shift that is subtracted from the logits of all examples of the client.
  """
  relative = likelihoods.relative
  count = tf.cast(tf.shape(relative)[0], relative.dtype)

  def respond(parameters: tf.Tensor, shift: tf.Tensor):
    """Weights and inverse; posteriors are relative * weights * inverse."""
    weights, _ = _exponentiate(_expected_logarithm(parameters) - shift)
    return weights, 1 / tf.reduce_sum(relative * weights, axis=-1)

  def update(weights: tf.Tensor, inverse: tf.Tensor):
    total = weights * tf.reduce_sum(relative * inverse[..., tf.newaxis], axis=0)
    if find_shift is None:
      return alpha + total, tf.zeros_like(alpha)
    return alpha + total, find_shift(tf.math.divide_no_nan(total, count))

  strength = tf.reduce_sum(alpha, axis=-1, keepdims=True)
  parameters, shift = tf.while_loop(
    lambda *_: True,
    lambda *found: update(*respond(*found)),
    (alpha * (1 + count / strength), tf.zeros_like(alpha)),
    maximum_iterations=_ITERATIONS - 1,
  )
  weights, inverse = respond(parameters, shift)
  parameters, shift = update(weights, inverse)
  return ClassShares(
    relative * weights * inverse[..., tf.newaxis],
    _expected_logarithm(parameters),
    parameters,
    shift,
  )


def bound(
  likelihoods: Likelihoods, alpha: tf.Tensor, shares: ClassShares
) -> tf.Tensor:
  """A lower bound of the log-likelihood of a client's examples, float [...].

  `shares` is the result of `find` for the same likelihoods and alpha.
  """
  parameters, log_shares = shares.parameters, shares.log_shares
  divergence = (
    tf.math.lgamma(tf.reduce_sum(parameters, axis=-1))
    - tf.reduce_sum(tf.math.lgamma(parameters), axis=-1)
    - tf.math.lgamma(tf.reduce_sum(alpha, axis=-1))
    + tf.reduce_sum(tf.math.lgamma(alpha), axis=-1)
    + tf.reduce_sum((parameters - alpha) * log_shares, axis=-1)
  )
  return _add_up(likelihoods, log_shares - shares.shift) - divergence


def evidence(
  likelihoods: Likelihoods, alpha: tf.Tensor, shares: ClassShares
) -> tf.Tensor:
  """The gain in log-likelihood by a client's own class shares, float [...].

  A lower bound of log p(examples) with own shares, minus log p(examples) with
  the mean shares. The gain is near or below 0 if clients are alike.
  """
  return bound(likelihoods, alpha, shares) - likelihood_if_alike(
    likelihoods, alpha, shares
  )


def likelihood_if_alike(
  likelihoods: Likelihoods, alpha: tf.Tensor, shares: ClassShares
) -> tf.Tensor:
  """The log-likelihood of a client's examples with mean shares, float [...]."""
  mean = tf.math.log(alpha / tf.reduce_sum(alpha, axis=-1, keepdims=True))
  return _add_up(likelihoods, mean - shares.shift)


def _expected_logarithm(parameters: tf.Tensor) -> tf.Tensor:
  """The mean of log pi under a Dirichlet distribution with these parameters."""
  return tf.math.digamma(parameters) - tf.math.digamma(
    tf.reduce_sum(parameters, axis=-1, keepdims=True)
  )


def _exponentiate(log_weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Class weights divided by the largest, and the logarithm of the largest."""
  largest = tf.reduce_max(log_weights, axis=-1, keepdims=True)
  relative = tf.maximum(log_weights - largest, _LEAST_LOG_SHARE)
  return tf.exp(relative), largest[..., 0]


def _add_up(likelihoods: Likelihoods, log_weights: tf.Tensor) -> tf.Tensor:
  weights, largest = _exponentiate(log_weights)
  own = tf.reduce_sum(likelihoods.relative * weights, axis=-1)
  return tf.reduce_sum(likelihoods.largest + tf.math.log(own) + largest, axis=0)
