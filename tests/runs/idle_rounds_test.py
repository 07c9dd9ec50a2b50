# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of `idle_rounds`."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.runs import idle_rounds

_NAN = float('nan')


class DescribeTest(parameterized.TestCase):
  @parameterized.parameters(
    # Round 0 has no clients.
    ([_NAN, 0.5, 0.5], None),
    ([_NAN, 0.0, 0.5, 0.5], None),
    ([_NAN, 0.0, 0.5], '1 of 2 .*--confidence_threshold below 0.9 keeps'),
    ([_NAN, 0.0, _NAN, 0.0, 0.5], '2 of 3 '),
    ([0.0], None),
    ([_NAN, _NAN], None),
  )
  def test_half_of_the_rounds(self, ratios, expected):
    metrics = {
      'round': np.arange(len(ratios)),
      'client/label_ratio': np.array(ratios),
    }
    line = idle_rounds.describe(metrics, 0.9)
    if expected is None:
      self.assertIsNone(line)
    else:
      self.assertRegex(line, expected)

  def test_system_without_a_threshold(self):
    metrics = {
      'round': np.arange(2),
      'client/label_ratio': np.array([_NAN, 0.0]),
    }
    line = idle_rounds.describe(metrics, None)
    self.assertIn('in 1 of 1 evaluated rounds', line)
    self.assertNotIn('--', line)

  def test_system_without_pseudo_labels(self):
    self.assertIsNone(idle_rounds.describe({'round': np.arange(3)}, 0.95))


if __name__ == '__main__':
  absltest.main()
