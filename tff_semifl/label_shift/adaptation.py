# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Adapts a classifier's predictions to the class shares of a site.

With shares pi of the classes at a site in place of the shares m that the
classifier assumes, the posterior of a class is (Saerens et al., 2002)

    p(c | x) ~ p_m(c | x)^(1 / T) (pi_c / m_c)^w

with w = 1, or less where images of a class differ between sites. The shares of
a site are the mean of their posterior, given the site's unlabeled images, under
the Dirichlet prior of `share_prior`.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities. Neural Computation 14, 2002.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.label_shift import class_shares
from tff_semifl.label_shift import share_prior

# Of evidence in nats, over all images of a site: from here on, own shares are
# likelier than the mean shares. A single image has 0, up to rounding.
LEAST_EVIDENCE = 0.01
# Lower probabilities are clipped, so that their logarithms are finite.
_LEAST_PROBABILITY = 1e-30


class SiteShares(NamedTuple):
  """The class shares of a site, estimated from its images, float32.

  The shares add up to 1. They are the mean shares if evidence is below
  `LEAST_EVIDENCE`.
  """

  shares: tf.Tensor  # [classes]
  deviations: tf.Tensor  # [classes], standard deviations of the posterior.
  evidence: tf.Tensor  # In nats, of own shares for all images together.


def estimate_site_shares(
  logits: tf.Tensor, prior: share_prior.SharePrior
) -> SiteShares:
  """Estimates the class shares of a site from its unlabeled images.

  `logits` are float32 [images, classes], of images of the site, or logarithms
  of the classifier's probabilities; there may be no image.
  """
  mean_shares = tf.constant(prior.mean_shares, tf.float32)
  if not prior.clients_differ:
    return SiteShares(mean_shares, tf.zeros_like(mean_shares), tf.constant(0.0))
  alpha = prior.strength * mean_shares
  likelihoods = class_shares.read(
    share_prior.log_likelihoods(logits, prior.temperature, mean_shares)
  )
  found = class_shares.find(likelihoods, alpha)
  total = tf.reduce_sum(found.parameters)
  shares = found.parameters / total
  evidence = class_shares.evidence(likelihoods, alpha, found)
  return SiteShares(
    tf.where(evidence >= LEAST_EVIDENCE, shares, mean_shares),
    tf.sqrt(shares * (1 - shares) / (total + 1)),
    evidence,
  )


def adapt_logits(
  logits: tf.Tensor, shares: tf.Tensor, prior: share_prior.SharePrior
) -> tf.Tensor:
  """Logits, float32 [images, classes], that assume other class shares.

  `logits` are as in `estimate_site_shares`. `shares` are float32 [classes], 0
  or above, up to a factor; a class of share 0 is never predicted.
  """
  mean_shares = tf.constant(prior.mean_shares, tf.float32)
  return logits / prior.temperature + prior.weight * (
    to_logits(shares) - tf.math.log(mean_shares)
  )


def to_logits(probabilities: tf.Tensor) -> tf.Tensor:
  """Logarithms of probabilities, float32, that are finite."""
  return tf.math.log(tf.maximum(probabilities, _LEAST_PROBABILITY))
