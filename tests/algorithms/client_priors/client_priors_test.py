# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the printed lines on the exported classifier, and on the gain."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.algorithms.client_priors import client_priors
from tff_semifl.algorithms.client_priors import server_labels

_METRICS = {
  'kept': 2.0,
  'held_out': 20.0,
  'right_labels_alone': 11.0,
  'right_mixture': 12.0,
  'right_head': 14.0,
  'spread': 0.001,
  'server_spread': 0.01,
  'share_gap': 0.1,
  'evidence': 1.0,
  'agreement': 0.5,
  'has_examples': 1.0,
}


class SharePriorTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.5, 0.001, 2.0, 1.0),
    # Images of a class differ between clients.
    (0.5, 0.006, 2.0, 0.25),
    # Clients are alike.
    (0.05, 0.001, math.inf, 1.0),
  )
  def test_is_that_of_training(self, evidence, spread, strength, weight):
    prior = _find_prior(evidence, spread)
    self.assertEqual(prior.mean_shares, (0.25, 0.75))
    self.assertEqual(
      (prior.strength, prior.temperature, prior.weight), (strength, 1, weight)
    )

  def test_without_clients_there_is_none(self):
    self.assertIsNone(_find_prior(math.nan, math.nan))


def _find_prior(evidence, spread):
  own = {'evidence': evidence, 'strength': 2.0, 'spread': spread}
  return client_priors.ClientPriors().find_share_prior(
    {f'client/own/{name}': value for name, value in own.items()},
    np.array([0.25, 0.75]),
  )


class ResultTest(parameterized.TestCase):
  def test_gain_is_of_the_same_images(self):
    half, more = np.arange(100) < 50, np.arange(100) < 80
    alone, exported, gain = client_priors.describe_gain(half, more, 40)
    self.assertEndsWith(alone, ' 50.0%')
    self.assertEndsWith(exported, ' 80.0%')
    # 30 of 100 predictions improve and none gets worse: Agresti and Min's
    # method counts 30.5 and 0.5 of 102.
    mean = 30 / 102
    error = 1.959964 * math.sqrt((31 / 102 - mean**2) / 102)
    self.assertIn(
      f'+30.0 points (95% interval {100 * (mean - error):+.1f} to'
      f' {100 * (mean + error):+.1f}',
      gain,
    )
    *_, loss, warning = client_priors.describe_gain(more, half, 40)
    self.assertStartsWith(loss, 'loss')
    self.assertStartsWith(warning, 'WARNING')

  @parameterized.parameters(
    (dict(), 'chosen', 'class frequencies say: head'),
    (dict(), 'head', '--keep says: head'),
    (dict(held_out=9), 'chosen', 'as clients differ'),
    (dict(held_out=9, kept=0, evidence=0.01), 'chosen', 'clients are alike'),
    (dict(held_out=9, kept=0, share_gap=0.3), 'chosen', 'variation 0.30'),
    (dict(held_out=9, kept=0), 'chosen', 'training has not ended'),
    (dict(kept=0, has_examples=0), 'chosen', 'fewer than 2 examples'),
    (dict(kept=0, spread=0.006), 'chosen', "clients' images differ"),
    (dict(held_out=9, kept=0, spread=0.006), 'chosen', 'images differ'),
  )
  def test_says_why_it_is_exported(self, changes, keep, expected):
    right, why = client_priors.describe_choice(_METRICS | changes, keep)
    self.assertEndsWith(right, 'labels alone 11, mixture 12, head 14')
    self.assertIn(expected, why)

  def test_says_that_class_frequencies_differ(self):
    differ = _METRICS | {'share_gap': 0.26, 'kept': 1}
    _, kept, why = client_priors.describe_choice(differ, 'chosen')
    self.assertEndsWith(kept, 'mixture')
    self.assertIn('total variation 0.26', why)

  def test_warns_of_a_label_that_its_fold_contradicts(self):
    targets = tf.one_hot([0, 0, 1, 1, 2], 3, dtype=tf.float64)
    fold = server_labels.assign(targets)
    # The label of class 2 is in all replicas.
    self.assertEqual(fold[4], -1)
    logits = np.zeros([server_labels.REPLICAS, 5, 3])
    logits[:, 4, 0] = 9
    logits[0, 0, 1] = 9
    self.assertEmpty([*client_priors.describe_doubts(logits, targets)])
    logits[1 + fold[0], 0, 1] = math.log(201)
    logits[1 + fold[1], 1, 1] = math.log(199)
    [line] = client_priors.describe_doubts(logits, targets)
    self.assertStartsWith(line, 'WARNING: of 5 labels, 1 may be wrong')


if __name__ == '__main__':
  absltest.main()
