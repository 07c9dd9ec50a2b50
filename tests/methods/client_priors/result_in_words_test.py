# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the lines on what clients added."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.methods.client_priors import class_shares
from tff_semifl.methods.client_priors import result_in_words

_ALONE = np.arange(100) < 50
_WITH_CLIENTS = np.arange(100) < 80
_GREATEST = class_shares.GREATEST_STRENGTH


def _describe(evidence, strength):
  return list(
    result_in_words.describe(
      _ALONE, _WITH_CLIENTS, 42, evidence=evidence, strength=strength
    )
  )


class ResultInWordsTest(parameterized.TestCase):
  def test_gain_is_of_the_same_images(self):
    alone, with_clients, gain, _ = _describe(0.3, 1.5)
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

  @parameterized.parameters((-0.004, 900.0), (0.05, _GREATEST))
  def test_says_that_clients_are_alike(self, evidence, strength):
    self.assertStartsWith(
      _describe(evidence, strength)[-1], 'clients are alike'
    )

  def test_says_that_there_was_no_client(self):
    self.assertStartsWith(
      _describe(math.nan, math.nan)[-1], 'no client took part'
    )


if __name__ == '__main__':
  absltest.main()
