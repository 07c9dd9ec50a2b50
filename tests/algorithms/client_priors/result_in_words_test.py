# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the lines on what was exported, and on what clients added."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.algorithms.client_priors import held_out
from tff_semifl.algorithms.client_priors import result_in_words
from tff_semifl.label_shift import class_shares

_ALONE = np.arange(100) < 50
_WITH_CLIENTS = np.arange(100) < 80
_GREATEST = class_shares.GREATEST_STRENGTH
_METRICS = {
  'kept': 2.0,
  'held_out': 20.0,
  'right_labels_alone': 11.0,
  'right_mixture': 12.0,
  'right_head': 14.0,
  'spread': 0.001,
  'server_spread': 0.01,
  'has_examples': 1.0,
  'evidence': 0.3,
  'strength': 1.5,
}


def _describe(
  *, has_labels=True, keep='chosen', alone=_ALONE, exported=_WITH_CLIENTS, **own
):
  metrics = {f'client/own/{k}': v for k, v in (_METRICS | own).items()}
  found = result_in_words.read(metrics, has_labels=has_labels, keep=keep)
  return list(result_in_words.describe(alone, exported, 40, found))


class ResultInWordsTest(parameterized.TestCase):
  def test_gain_is_of_the_same_images(self):
    alone, with_clients, gain, *_ = _describe()
    self.assertEqual(alone.split()[-1], '50.0%')
    self.assertEqual(with_clients.split()[-1], '80.0%')
    # 30 of 100 gained and none lost: Agresti and Min have 30.5 and 0.5 of 102.
    mean = 30 / 102
    error = 1.959964 * math.sqrt((31 / 102 - mean**2) / 102)
    self.assertIn(
      f'+30.0 points (95% interval {100 * (mean - error):+.1f} to'
      f' {100 * (mean + error):+.1f}',
      gain,
    )

  def test_a_loss_is_no_gain(self):
    lines = _describe(alone=_WITH_CLIENTS, exported=_ALONE)
    self.assertStartsWith(lines[2], 'loss')
    self.assertStartsWith(lines[3], 'WARNING')

  @parameterized.parameters(
    (dict(), 'held-out labels say: head'),
    (dict(keep='head'), '--keep says: head'),
    (dict(kept=0.0, has_labels=False), 'labels are too few'),
    (dict(kept=0.0, has_examples=0.0), 'for each label, too few'),
    (
      dict(kept=0.0, spread=1.01 * held_out.GREATEST_SPREAD),
      "clients' images differ",
    ),
  )
  def test_says_why_it_is_exported(self, changes, expected):
    lines = _describe(**changes)
    self.assertIn('of 20: labels alone 11, mixture 12', lines[3])
    self.assertIn(expected, lines[4])

  @parameterized.parameters((-0.004, 900.0), (0.05, _GREATEST))
  def test_says_that_clients_are_alike(self, evidence, strength):
    self.assertStartsWith(
      _describe(evidence=evidence, strength=strength)[-1], 'clients are alike'
    )

  def test_says_that_there_was_no_client(self):
    self.assertStartsWith(
      _describe(evidence=math.nan)[-1], 'no client took part'
    )


if __name__ == '__main__':
  absltest.main()
