# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the objectives of the server's steps."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import special
from scipy import stats
import tensorflow as tf

from tests.algorithms.client_priors import numpy_reference
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import mixture
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state
from tff_semifl.label_shift import class_shares
from tff_semifl.models import functional

_GENERATOR = np.random.default_rng(0)
_CENTERS = 2 * _GENERATOR.normal(size=(3, 4))
_LABELS = np.arange(12) % 3
_X = _CENTERS[_LABELS] + _GENERATOR.normal(size=(12, 4))
_CLIENTS = [
  _CENTERS[_GENERATOR.choice(3, 30, p=np.roll([0.8, 0.1, 0.1], client))]
  + _GENERATOR.normal(size=(30, 4))
  for client in range(4)
]
_POOLED = np.concatenate(_CLIENTS)


def _labels():
  targets = tf.one_hot(_LABELS, 3, dtype=tf.float64)
  return server_labels.Labels(
    tf.constant(_X), targets, server_labels.weigh(targets)
  )


class LeaderTest(parameterized.TestCase):
  @parameterized.parameters(
    # Four examples for each of 2 x 3 weights.
    ({}, 24, 6),
    ({}, 23, 0),
    ({'evidence': 0.01}, 24, 0),
    ({'passes': 15}, 24, 0),
    ({'objectives': [-0.1] * 6}, 24, 0),
    ({'consensus': [0.9, 0.8, 0.7, 0.909, 0.6, 0.5]}, 24, 6),
    ({'consensus': [0.9, 0.8, 0.7, 0.911, 0.6, 0.92]}, 24, 11),
    # The objective is that of the replica which would lead.
    (
      {'consensus': [0, 0, 1, 0, 0, 0], 'objectives': [1, 1, -1, 1, 1, 1]},
      24,
      0,
    ),
  )
  def test_second_learner_needs_examples_and_a_greater_objective(
    self, changes, count, expected
  ):
    start = state.start(functional.ModelWeights((), ()), 4, 3).estimate
    objective = np.zeros(state.LEARNERS)
    objective[server_labels.REPLICAS :] = changes.get('objectives', 0.1)
    estimate = start._replace(
      passes=changes.get('passes', 16),
      averages=start.averages._replace(
        evidence=np.full(state.LEARNERS, changes.get('evidence', 1.0)),
        objective=tf.constant(objective),
        consensus=tf.constant(changes.get('consensus', [0.0] * 6), tf.float64),
      ),
    )
    components = components_lib.Components(
      None, None, tf.constant([1.0, 0.5, 0, 0]), float(count)
    )
    found = server_steps.find_leader(estimate, components)
    self.assertEqual(found, expected)


class ShareGapTest(absltest.TestCase):
  def test_is_total_variation_between_labels_and_mean_posteriors(self):
    labels = _labels()
    start = state.start(functional.ModelWeights((), ()), 4, 3).estimate
    posteriors = np.tile([0.5, 0.4, 0.1], [state.LEARNERS, 1])
    learned = server_steps.learn(
      server_steps.begin(start, labels)._replace(
        averages=start.averages._replace(posteriors=tf.constant(posteriors))
      ),
      components_lib.Components(
        tf.zeros([4], tf.float64),
        tf.eye(4, dtype=tf.float64),
        tf.ones([4], tf.float64),
        tf.constant(120.0, tf.float64),
      ),
      labels,
    )
    # The labels' shares are 1/3.
    np.testing.assert_allclose(
      choice.measure_share_gap(learned, labels.shares), 0.9 - 2 / 3
    )


class HeadTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.bias = np.array([0.5, -0.2, 0.1])
    self.shares = np.array([0.5, 0.3, 0.2])
    self.alpha = 1.5 * self.shares
    second = _POOLED.T @ _POOLED / len(_POOLED)
    values, vectors = np.linalg.eigh(second)
    # Coordinates in which second moments of clients' examples are diagonal.
    self.rotation = vectors
    self.components = components_lib.Components(
      tf.zeros([4], tf.float64),
      tf.eye(4, dtype=tf.float64),
      tf.constant(values),
      tf.constant(float(len(_POOLED)), tf.float64),
    )

  def _ask(self, head):
    """The objective of a self-taught head, and the gradient."""
    objective, gradient = 0.0, np.zeros_like(head)
    for client in _CLIENTS:
      padded = numpy_reference.ones(client @ self.rotation)
      own = padded @ head
      logits = tf.constant(own + self.bias - np.log(self.shares))
      likelihoods = class_shares.read(logits)
      found = class_shares.find(likelihoods, tf.constant(self.alpha))
      objective += class_shares.bound(
        likelihoods, tf.constant(self.alpha), found
      )
      objective -= special.logsumexp(own, axis=1).sum()
      objective -= len(client) * self.shares @ self.bias
      gradient += padded.T @ (found.posteriors - special.softmax(own, axis=1))
    return float(objective), gradient / len(_POOLED)

  def _penalized(self, head):
    rotated = _labels()._replace(x=tf.constant(_X @ self.rotation))
    logits = numpy_reference.ones(rotated.x.numpy()) @ head
    logarithms = special.log_softmax(logits, axis=1)[np.arange(12), _LABELS]
    penalty = server_steps.head_penalty(self.components.count).numpy()
    return (
      self._ask(head)[0]
      + mixture.LABEL_WEIGHT * logarithms.sum()
      - penalty / 2 * np.sum(head[:-1] ** 2)
    )

  def test_each_step_increases_the_objective(self):
    head = _GENERATOR.normal(size=(5, 3))
    labels = _labels()._replace(x=tf.constant(_X @ self.rotation))
    before = self._penalized(head)
    for _ in range(8):
      stacked = np.tile(head, (state.LEARNERS, 1, 1))
      matrix = np.tile(self._ask(head)[1], (state.LEARNERS, 1, 1))
      head = server_steps.step_head(
        tf.constant(stacked), tf.constant(matrix), self.components, labels
      )[0].numpy()
      after = self._penalized(head)
      # Six iterations determine the shares with this accuracy.
      self.assertGreater(after, before - 1e-6 * abs(before))
      before = after

  def test_each_step_of_the_bias_decreases_the_objective(self):
    logits = _GENERATOR.normal(size=(200, 3)) * 2
    wanted, bias = np.array([0.7, 0.2, 0.1]), np.zeros(3)

    def objective(bias):
      return special.logsumexp(logits + bias, axis=1).mean() - wanted @ bias

    before = objective(bias)
    for _ in range(50):
      mean = special.softmax(logits + bias, axis=1).mean(axis=0)
      bias = server_steps.step_bias(bias, wanted, mean).numpy()
      self.assertLessEqual(objective(bias), before + 1e-12)
      before = objective(bias)
    np.testing.assert_allclose(
      special.softmax(logits + bias, axis=1).mean(axis=0), wanted, atol=1e-3
    )

  def test_a_step_of_the_bias_is_bounded(self):
    # A quantized mean of small posteriors may be 0 or negative.
    step = server_steps.step_bias(
      np.zeros(4), np.full(4, 0.25), np.array([0.5, 0.96, 0.0, -0.01])
    )
    np.testing.assert_allclose(step, [-np.log(2), -0.7, 0.7, 0.7])


class MixtureTest(absltest.TestCase):
  def test_each_m_step_increases_the_likelihood(self):
    labels = _labels()
    log_shares = np.log(np.full(3, 1 / 3))
    mean = _POOLED.mean(axis=0)
    # Coordinates in which second moments of clients' examples are diagonal.
    values, rotation = np.linalg.eigh(np.cov(_POOLED.T, bias=True))
    pooled, x = (_POOLED - mean) @ rotation, (_X - mean) @ rotation
    weights = np.zeros((5, 3))
    weights[:-1] = 0.1 * x.T @ np.eye(3)[_LABELS]
    likelihoods = []
    for _ in range(6):
      posteriors = special.softmax(
        numpy_reference.ones(pooled) @ weights + log_shares, axis=1
      )
      sums = posteriors.sum(axis=0), pooled.T @ posteriors, len(pooled) * values
      found = mixture.fit(
        labels._replace(x=tf.constant(x), weights=labels.weights[:1]),
        *(tf.constant(each[None]) for each in sums[:2]),
        tf.constant(sums[2]),
      )
      weights, means, covariance = numpy_reference.find_mixture(
        x, np.eye(3)[_LABELS], np.ones(12), *sums
      )
      np.testing.assert_allclose(found.weights[0], weights, rtol=1e-8)
      np.testing.assert_allclose(found.means[0], means, rtol=1e-8)
      densities = [
        np.stack(
          [stats.multivariate_normal.logpdf(a, m, covariance) for m in means.T],
          axis=1,
        )
        for a in (pooled, x)
      ]
      likelihoods.append(
        special.logsumexp(densities[0] + log_shares, axis=1).sum()
        + mixture.LABEL_WEIGHT * densities[1][np.arange(12), _LABELS].sum()
      )
    # Because of its isotropic part, the covariance is not at the maximum.
    self.assertGreater(np.diff(likelihoods).min(), -0.1)
    self.assertGreater(likelihoods[-1], likelihoods[0] + 10)


if __name__ == '__main__':
  absltest.main()
