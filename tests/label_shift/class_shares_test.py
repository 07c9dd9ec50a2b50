# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the evidence for a client's own class shares, against integrals."""

import math

from absl.testing import absltest
import numpy as np
import scipy.special
import scipy.stats
import tensorflow as tf

from tff_semifl.label_shift import class_shares


def _evidence(logits, alpha):
  logits, alpha = tf.constant(logits), tf.constant(alpha)
  likelihoods = class_shares.read(tf.constant(logits))
  return class_shares.evidence(
    likelihoods, alpha, class_shares.find(likelihoods, alpha)
  ).numpy()


class EvidenceTest(absltest.TestCase):
  def test_is_exact_if_classes_are_certain(self):
    alpha, labels = np.array([0.5, 1.0, 1.5]), [0, 0, 1, 0]
    # Labels are drawn one after another, by Polya's urn.
    urn, expected = alpha.copy(), 0.0
    for label in labels:
      expected += math.log(urn[label] / urn.sum())
      expected -= math.log(alpha[label] / alpha.sum())
      urn[label] += 1
    self.assertAlmostEqual(
      _evidence(100 * np.eye(3)[labels], alpha), expected, places=6
    )

  def test_is_a_bound_not_far_below_the_integral(self):
    alpha = np.array([0.6, 1.4])
    logits = np.random.default_rng(0).normal([1, 0], 4, size=(10, 2))
    # Quantiles of equal probability, of the Beta distribution of the shares.
    share = scipy.stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, *alpha)
    shares = np.stack([share, 1 - share])
    drawn = np.sum(np.log(np.exp(logits) @ shares), axis=0)
    mean = np.sum(np.log(np.exp(logits) @ (alpha / alpha.sum())))
    exact = scipy.special.logsumexp(drawn) - math.log(drawn.size) - mean
    self.assertBetween(_evidence(logits, alpha), exact - 0.3, exact)


if __name__ == '__main__':
  absltest.main()
