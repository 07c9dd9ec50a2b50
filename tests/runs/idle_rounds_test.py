# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of counting rounds without pseudo-labels."""

import math

from absl.testing import absltest
import numpy as np

from tff_semifl.runs import idle_rounds


def _describe(*ratios, threshold=0.95):
  metrics = {
    'round': np.arange(len(ratios)),
    'client/label_ratio': np.array(ratios),
  }
  return idle_rounds.describe(metrics, threshold)


class IdleRoundsTest(absltest.TestCase):
  def test_counts_evaluated_rounds_with_clients(self):
    line = _describe(math.nan, 0.0, math.nan, 0.0, 0.25)
    self.assertIn('in 2 of 3 evaluated rounds', line)
    self.assertIn('--confidence_threshold below 0.95', line)

  def test_system_without_a_threshold(self):
    line = _describe(math.nan, 0.0, threshold=None)
    self.assertIn('in 1 of 1 evaluated rounds', line)
    self.assertNotIn('--', line)

  def test_nothing_to_say(self):
    self.assertIsNone(_describe(0.0, 0.5, math.nan))
    self.assertIsNone(idle_rounds.describe({'round': np.arange(3)}, 0.95))


if __name__ == '__main__':
  absltest.main()
