# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Adapts a classifier's predictions to the class shares of a site.

The classifier assumes class shares m. At a site with shares pi, the posterior
of class c is (Saerens et al., 2002)

    p(c | x) ~ p_m(c | x)^(1 / T) (pi_c / m_c)^w

with temperature T. The exponent w is 1, or less where images of a class differ
between sites. The estimated shares of a site are their posterior mean, given
the site's unlabeled images, under the Dirichlet prior of `share_prior`.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities. Neural Computation 14, 2002.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.label_shift import class_shares
from tff_semifl.label_shift import share_prior

# From this evidence on, in nats for all images of a site, own shares are
# likelier than the mean shares. A single image has evidence 0.
LEAST_EVIDENCE = 0.01
# Lower probabilities are clipped, so that their logarithms are finite.
_LEAST_PROBABILITY = 1e-30


class SiteShares(NamedTuple):
  """The class shares of a site, estimated from its images, float32.

  Shares sum to 1; below `LEAST_EVIDENCE` they are the mean shares.
  """

  shares: tf.Tensor  # [classes]
  deviations: tf.Tensor  # [classes], standard deviations of the posterior.
  evidence: tf.Tensor  # Evidence for own shares, in nats for all images.


def estimate_site_shares(
  logits: tf.Tensor, prior: share_prior.SharePrior
) -> SiteShares:
  """Estimates the class shares of a site from its unlabeled images.

  `logits` are float32 [images, classes]: the classifier's logits, or logarithms
  of its probabilities, for the images of the site. There may be no images.
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
  """Converts logits, float32 [images, classes], to other class shares.

  `logits` are as in `estimate_site_shares`. `shares` are float32 [classes], at
  least 0, with any sum; a class with share 0 is never predicted.
  """
  mean_shares = tf.constant(prior.mean_shares, tf.float32)
  return logits / prior.temperature + prior.weight * (
    to_logits(shares) - tf.math.log(mean_shares)
  )


def to_logits(probabilities: tf.Tensor) -> tf.Tensor:
  """Finite logarithms of probabilities, float32."""
  return tf.math.log(tf.maximum(probabilities, _LEAST_PROBABILITY))
