# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the non-iid level R: its formula, its ends, and small examples."""

import itertools

from absl.testing import absltest
import hypothesis
from hypothesis import strategies
from hypothesis.extra import numpy as hypothesis_numpy
import numpy as np

from tff_semifl.experiment import data_figures


def _measure_pair_by_pair(counts):
  """Equation 1 of Zhang et al., pair by pair."""
  fractions = counts / counts.sum(axis=1, keepdims=True)
  num_clients = len(counts)
  total = sum(
    np.abs(a - b).sum() for a, b in itertools.combinations(fractions, 2)
  )
  return total / (num_clients * (num_clients - 1))


class LabelSkewTest(absltest.TestCase):
  @hypothesis.given(
    hypothesis_numpy.arrays(
      np.int64,
      strategies.tuples(strategies.integers(2, 8), strategies.integers(1, 5)),
      elements=strategies.integers(0, 30),
    )
  )
  @hypothesis.settings(deadline=None)
  def test_is_equation_1(self, counts):
    counts[:, 0] += 1  # Each client has an image.
    found = data_figures.measure_label_skew(counts)
    self.assertAlmostEqual(found, _measure_pair_by_pair(counts), places=12)
    self.assertBetween(found, -1e-12, 1 + 1e-12)

  def test_by_hand(self):
    # (1, 0), (1/2, 1/2), (0, 1): distances 1, 2, 1 of 3 * 2.
    counts = np.array([[4, 0], [1, 1], [0, 2]])
    self.assertAlmostEqual(data_figures.measure_label_skew(counts), 4 / 6)

  def test_a_single_client(self):
    self.assertEqual(data_figures.measure_label_skew(np.array([[1, 2]])), 0)


if __name__ == '__main__':
  absltest.main()
