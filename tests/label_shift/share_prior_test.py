# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the prior of class shares, and of predictions adapted to shares."""

import math

from absl.testing import absltest
import numpy as np
from scipy import special
import tensorflow as tf

from tff_semifl.label_shift import share_prior

_MEAN = np.array([0.5, 0.3, 0.2], np.float32)


def _draw_clients(
  strength, num_clients=60, num_images=40, temperature=1.0, seed=0
):
  """Draws logits under the shares `_MEAN`, and labels, of clients' images."""
  rng = np.random.default_rng(seed)
  clients = []
  for _ in range(num_clients):
    shares = rng.dirichlet(strength * _MEAN) if strength else _MEAN
    labels = rng.choice(3, num_images, p=shares)
    # log p(x | c) of normal distributions with variance 1 and means 2 e_c.
    x = 2 * np.eye(3)[labels] + rng.normal(size=[num_images, 3])
    logits = 2 * x + np.log(_MEAN)
    clients.append(((logits * temperature).astype(np.float32), labels))
  return clients


def _estimate_by_numpy(logits, prior):
  """The variational posterior of shares, by many plain iterations."""
  alpha = prior.strength * np.array(prior.mean_shares)
  z = logits / prior.temperature - np.log(prior.mean_shares)
  parameters = alpha * (1 + len(z) / alpha.sum())
  for _ in range(6):
    weights = special.digamma(parameters) - special.digamma(parameters.sum())
    parameters = alpha + special.softmax(z + weights, axis=1).sum(axis=0)
  return parameters / parameters.sum()


def _find_prior(clients):
  return share_prior.find_share_prior([each for each, _ in clients], _MEAN)


def _prior(**changes):
  prior = share_prior.SharePrior(tuple(map(float, _MEAN)), 2.0, 1.0, 0.5)
  return prior._replace(**changes)


class SharePriorTest(absltest.TestCase):
  def test_strength_and_temperature_are_those_of_the_data(self):
    prior = _find_prior(_draw_clients(strength=1.0, temperature=2.0))
    self.assertEqual(prior.temperature, 2.0)
    self.assertBetween(prior.strength, 0.4, 2.2)

  def test_alike_clients_keep_the_global_model(self):
    prior = _find_prior(_draw_clients(strength=None))
    self.assertFalse(prior.clients_differ)
    self.assertLess(prior.evidence, share_prior.LEAST_EVIDENCE)

  def test_clients_without_images_do_not_count(self):
    clients = _draw_clients(strength=1.0)
    empty = (np.zeros([0, 3], np.float32), np.zeros([0], int))
    self.assertEqual(_find_prior(clients), _find_prior([*clients, empty]))
    with self.assertRaisesRegex(ValueError, 'no client has an image'):
      _find_prior([empty])

  def test_of_many_images_equally_spaced_ones_are_used(self):
    ((logits, _),) = _draw_clients(1.0, num_clients=1, num_images=4001)
    for number, expected in ((1, 1), (2000, 2000), (2001, 1001), (4001, 1334)):
      found = share_prior.measure(tf.constant(logits[:number]), _MEAN)
      self.assertEqual(found.num_images, expected)

  def test_shares_are_a_distribution(self):
    for shares in ([0.5, 0.5, 0.1], [1.0, 0.0], [[0.5, 0.5]]):
      with self.assertRaisesRegex(ValueError, 'mean_shares'):
        share_prior.find_share_prior([], shares)

  def test_is_read_as_it_was_written(self):
    entropies = tuple(np.linspace(0, 0.9, 101))
    for prior in (_prior(entropies=entropies), _prior(strength=math.inf)):
      self.assertEqual(share_prior.from_json(prior.to_json()), prior)
    with self.assertRaisesRegex(ValueError, 'no prior'):
      share_prior.from_json('{}')
    with self.assertRaisesRegex(ValueError, 'entropies'):
      share_prior.from_json(_prior(entropies=(0.7, 3.5)).to_json())


class AdaptationTest(absltest.TestCase):
  def test_shares_are_those_of_plain_iterations(self):
    ((logits, _),) = _draw_clients(strength=1.0, num_clients=1)
    prior = _prior(temperature=1.4)
    found = share_prior.estimate_site_shares(tf.constant(logits), prior)
    np.testing.assert_allclose(
      found.shares, _estimate_by_numpy(logits, prior), rtol=1e-4
    )

  def test_predictions_are_by_bayes_rule(self):
    ((logits, _),) = _draw_clients(strength=1.0, num_clients=1)
    shares = np.array([0.1, 0.0, 0.9], np.float32)
    found = tf.nn.softmax(
      share_prior.adapt_logits(
        tf.constant(logits), tf.constant(shares), _prior(weight=0.3)
      )
    )
    expected = special.softmax(logits, axis=1) * (shares / _MEAN) ** 0.3
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)

  def test_with_infinite_strength_is_the_global_model(self):
    ((logits, _),) = _draw_clients(strength=1.0, num_clients=1)
    prior = _prior(strength=math.inf)
    found = share_prior.estimate_site_shares(tf.constant(logits), prior)
    np.testing.assert_allclose(found.shares, _MEAN)
    self.assertEqual(found.evidence, 0)
    np.testing.assert_allclose(
      tf.nn.softmax(share_prior.adapt_logits(logits, found.shares, prior)),
      special.softmax(logits, axis=1),
      atol=1e-6,
    )

  def test_a_large_strength_and_few_images_are_nearly_the_global_model(self):
    ((logits, _),) = _draw_clients(strength=0.1, num_clients=1)
    near = share_prior.estimate_site_shares(logits, _prior(strength=1e6)).shares
    np.testing.assert_allclose(near, _MEAN, atol=1e-3)
    for number in (0, 1):
      found = share_prior.estimate_site_shares(
        logits[:number], _prior(strength=10.0)
      )
      np.testing.assert_allclose(found.shares, _MEAN, atol=1e-6)
      self.assertLess(found.evidence, 1e-5)

  def test_own_shares_are_better_than_the_global_model(self):
    clients = _draw_clients(strength=0.5, num_images=80, seed=1)
    prior = _find_prior(clients)
    right = np.zeros(2)
    for logits, labels in clients:
      shares = share_prior.estimate_site_shares(logits[:40], prior).shares
      adapted = share_prior.adapt_logits(logits[40:], shares, prior).numpy()
      for i, each in enumerate((logits[40:], adapted)):
        right[i] += np.sum(each.argmax(axis=1) == labels[40:])
    self.assertGreater(right[1], right[0] + 100)

  def test_a_site_of_one_class(self):
    rng = np.random.default_rng(0)
    x = 2 * np.eye(3)[[2] * 50] + rng.normal(size=[50, 3])
    logits = (2 * x + np.log(_MEAN)).astype(np.float32)
    found = share_prior.estimate_site_shares(logits, _prior(strength=1.0))
    self.assertGreater(found.shares[2], 0.95)
    self.assertLess(found.deviations[2], 0.05)
    self.assertGreater(found.evidence, 10)


if __name__ == '__main__':
  absltest.main()
