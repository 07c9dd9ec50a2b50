# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A prior of the class shares of sites, and predictions adapted to a site.

The class shares of a site are drawn from a Dirichlet distribution with
parameters s * m. The classifier assumes class shares m; the strength s is small
where sites differ. A grid search over the strength, and the temperature that
divides the logits, maximizes the evidence for own class shares of clients. The
search needs one sum over clients.

At a site with shares pi, the posterior of class c is (Saerens et al., 2002)

    p(c | x) ~ p_m(c | x)^(1 / T) (pi_c / m_c)^w

with the classifier's probabilities p_m and the temperature T. The exponent w is
1, or less where images of a class differ between sites. The estimated shares of
a site are their posterior mean, given the site's unlabeled images.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities. Neural Computation 14, 2002.
"""

from collections.abc import Iterable, Sequence
import json
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.label_shift import class_shares
from tff_semifl.label_shift import input_shift

NAME = 'class_share_prior.json'
TEMPERATURES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
STRENGTHS = tuple(
  np.geomspace(
    class_shares.LEAST_STRENGTH, class_shares.GREATEST_STRENGTH, 13
  ).tolist()
)
# With less evidence, in nats per image, clients count as alike. A poor
# classifier mistakes its errors for shares: with 40 labels of Fashion-MNIST and
# clients that are alike the evidence is 0.05, and own shares cost 36 points.
# A site needs as much, in nats for all its images; a single image has 0.
LEAST_EVIDENCE = 0.1
# More images of a client hardly change the evidence per image.
MOST_IMAGES = 2000
# The count of a class without labels.
_ABSENT = 0.5
# Lower probabilities are clipped, so that their logarithms are finite.
_LEAST_PROBABILITY = 1e-30


class SharePrior(NamedTuple):
  """A prior with which a classifier adapts to the class shares of a site."""

  mean_shares: tuple[float, ...]  # Assumed by the classifier, all above 0.
  strength: float  # The Dirichlet strength; infinite if clients are alike.
  temperature: float  # Divides the classifier's logits.
  # The gain in log-likelihood of a client's image by own shares, in nats.
  evidence: float
  # The exponent of share ratios in a posterior, in (0, 1]; below 1 where images
  # of a class differ between clients.
  weight: float = 1.0
  # The distribution of clients' images; None if unknown.
  inputs: input_shift.InputMoments | None = None
  # Of clients' images, `input_shift.find_entropy_quantiles`; empty if unknown.
  entropies: tuple[float, ...] = ()

  @property
  def clients_differ(self) -> bool:
    """Whether class shares differ; if not, all sites have the mean shares."""
    return math.isfinite(self.strength)

  def for_inputs(self, shape: Sequence[int]) -> 'SharePrior':
    """The prior, without `inputs` if these are for inputs of another shape."""
    known = self.inputs and len(self.inputs.mean)
    if known == input_shift.count_numbers(shape):
      return self
    return self._replace(inputs=None)

  def to_json(self) -> str:
    """The prior as JSON; an infinite strength becomes null."""
    values = self._asdict()
    if not self.clients_differ:
      values['strength'] = None
    values['inputs'] = self.inputs and self.inputs._asdict()
    return json.dumps(values, indent=2) + '\n'


def from_json(text: str | bytes) -> SharePrior:
  """Parses JSON of `SharePrior.to_json`; raises a ValueError if malformed."""
  try:
    values = json.loads(text)
    strength = values.pop('strength')
    shares = tuple(map(float, values.pop('mean_shares')))
    inputs = values.pop('inputs')
    entropies = tuple(map(float, values.pop('entropies', ())))
    if len(entropies) not in (0, number := len(input_shift.QUANTILES)):
      raise ValueError(f'entropies: found {len(entropies)}, not {number}')
    if inputs is not None:
      inputs = input_shift.InputMoments(
        **{name: tuple(map(float, each)) for name, each in inputs.items()}
      )
    return SharePrior(
      mean_shares=shares,
      strength=math.inf if strength is None else float(strength),
      inputs=inputs,
      entropies=entropies,
      **values,
    )
  except (AttributeError, KeyError, TypeError) as error:
    raise ValueError(f'is no prior of class shares ({error})') from error


class Evidence(NamedTuple):
  """Sums over clients that determine the prior, float32."""

  evidence: tf.Tensor  # [temperatures, strengths], `class_shares.evidence`.
  num_images: tf.Tensor
  num_clients: tf.Tensor  # Clients with images.


def measure(logits: tf.Tensor, mean_shares: tf.Tensor) -> Evidence:
  """The evidence of a client's images, from logits, float32 [images, classes].

  At most `MOST_IMAGES` images are used, evenly spaced in the data.
  `mean_shares` are float32 [classes], as in `SharePrior`.
  """
  num_images = tf.shape(logits)[0]
  step = 1 + tf.maximum(num_images - 1, 0) // MOST_IMAGES
  logits = tf.gather(logits, tf.range(0, num_images, step))
  count = tf.cast(tf.shape(logits)[0], tf.float32)
  alpha = tf.constant(STRENGTHS)[:, tf.newaxis] * mean_shares

  def at_temperature(temperature: tf.Tensor) -> tf.Tensor:
    likelihoods = class_shares.read(
      log_likelihoods(logits, temperature, mean_shares)[:, tf.newaxis]
    )
    shares = class_shares.find(likelihoods, alpha)
    return class_shares.evidence(likelihoods, alpha, shares)

  # One temperature after the other, to save memory.
  evidence = tf.map_fn(at_temperature, tf.constant(TEMPERATURES))
  is_there = tf.cast(count > 0, tf.float32)
  return Evidence(evidence * is_there, count, is_there)


_measure = tf.function(
  measure,
  input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None])],
)


def choose(
  total: Evidence,
  mean_shares: np.ndarray,
  inputs: input_shift.InputSums | None = None,
) -> SharePrior:
  """The prior with the largest evidence.

  `total` and `inputs` are summed over clients. Raises a ValueError if
  clients have no images, or the evidence is not finite.
  """
  if not total.num_images:
    raise ValueError('no client has an image')
  if not np.all(np.isfinite(total.evidence)):
    raise ValueError('logits of clients are not finite')
  best = np.unravel_index(np.argmax(total.evidence), total.evidence.shape)
  return create(
    mean_shares,
    STRENGTHS[best[1]],
    TEMPERATURES[best[0]],
    float(total.evidence[best] / total.num_images),
  )._replace(
    inputs=inputs and input_shift.find_moments(inputs, float(total.num_clients))
  )


def create(
  mean_shares: np.ndarray, strength: float, temperature: float, evidence: float
) -> SharePrior:
  """Creates a prior; below `LEAST_EVIDENCE`, clients count as alike."""
  if evidence < LEAST_EVIDENCE:
    strength, temperature = math.inf, 1.0
  return SharePrior(
    tuple(map(float, mean_shares)), strength, temperature, evidence
  )


def find_share_prior(
  client_logits: Iterable[np.ndarray], mean_shares: Sequence[float]
) -> SharePrior:
  """Estimates the prior of any classifier from its logits at clients.

  `launch.train` computes such a prior with TFF.

  Args:
    client_logits: For each client the logits of its unlabeled images, float32
      [images, classes], or logarithms of probabilities.
    mean_shares: The class shares of the classifier's labels, [classes], all
      above 0.

  Raises:
    ValueError: For wrong shares, no images, or logits that are not finite.
  """
  shares = np.asarray(mean_shares, np.float32)
  if shares.ndim != 1 or np.any(shares <= 0) or abs(shares.sum() - 1) > 1e-3:
    raise ValueError(
      f'mean_shares: found {mean_shares}; must be above 0, and add up to 1'
    )
  total = Evidence(*(np.zeros([]) for _ in Evidence._fields))
  for logits in client_logits:
    found = _measure(tf.constant(logits, tf.float32), tf.constant(shares))
    total = Evidence(
      *(a + b.numpy() for a, b in zip(total, found, strict=True))
    )
  return choose(total, shares)


def log_likelihoods(
  logits: tf.Tensor, temperature: float | tf.Tensor, mean_shares: tf.Tensor
) -> tf.Tensor:
  """The logarithms of p(image | class), up to a constant for each image.

  `logits`, float32 [images, classes], assume the class shares `mean_shares`.
  """
  return logits / temperature - tf.math.log(mean_shares)


def shares_of_counts(counts: tf.Tensor) -> tf.Tensor:
  """Class shares from counts of labels, float [classes]; 0 counts as 1/2."""
  counts = tf.maximum(counts, _ABSENT)
  return counts / tf.reduce_sum(counts)


class SiteShares(NamedTuple):
  """The class shares of a site, estimated from its images, float32.

  Shares sum to 1. If `evidence` is below `LEAST_EVIDENCE`, `shares` are the
  prior's mean shares.
  """

  shares: tf.Tensor  # [classes]
  deviations: tf.Tensor  # [classes], standard deviations of the posterior.
  evidence: tf.Tensor  # Evidence for own shares, in nats for all images.


def estimate_site_shares(logits: tf.Tensor, prior: SharePrior) -> SiteShares:
  """Estimates the class shares of a site from its unlabeled images.

  `logits` are float32 [images, classes]: the classifier's logits, or logarithms
  of its probabilities, for the images of the site. There may be no images.
  """
  mean_shares = tf.constant(prior.mean_shares, tf.float32)
  if not prior.clients_differ:
    return SiteShares(mean_shares, tf.zeros_like(mean_shares), tf.constant(0.0))
  alpha = prior.strength * mean_shares
  likelihoods = class_shares.read(
    log_likelihoods(logits, prior.temperature, mean_shares)
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
  logits: tf.Tensor, shares: tf.Tensor, prior: SharePrior
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
  """Logarithms of probabilities, float32, clipped to be finite."""
  return tf.math.log(tf.maximum(probabilities, _LEAST_PROBABILITY))
