# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of epsilon against the formulas of the papers."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.experiment import client_privacy

_DELTA = 1e-5


def _compute(**overrides):
  arguments = {
    'noise_multiplier': 4.0,
    'num_clients': 100,
    'clients_per_round': 10,
    'num_rounds': 30,
    'delta': _DELTA,
  }
  return client_privacy.compute_epsilon(**(arguments | overrides))


def _gaussian_rdp(order, noise_multiplier):
  """Renyi divergence of a sum that one client changes by two clipping norms.

  References:
    Mironov. Renyi differential privacy. 2017. Proposition 7.
  """
  return 2 * order / noise_multiplier**2


def _to_epsilon(order, rdp, delta):
  """The epsilon of a Renyi divergence.

  References:
    Canonne, Kamath, Steinke. The discrete Gaussian for differential privacy.
    2020. Proposition 12.
  """
  return rdp + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)


def _sampled_rdp(order, share, noise_multiplier):
  """A bound of the divergence of a round with a share of all clients.

  References:
    Wang, Balle, Kasiviswanathan. Subsampled Renyi differential privacy and
    analytical moments accountant. 2019. Theorem 9, for Gaussian noise.
  """
  second = _gaussian_rdp(2, noise_multiplier)
  terms = [
    0.0,
    2 * math.log(share)
    + math.log(math.comb(order, 2))
    + min(math.log(4 * math.expm1(second)), second + math.log(2)),
  ]
  terms += [
    j * math.log(share)
    + math.log(2 * math.comb(order, j))
    + (j - 1) * _gaussian_rdp(j, noise_multiplier)
    for j in range(3, order + 1)
  ]
  return np.logaddexp.reduce(terms) / (order - 1)


class PrivacyTest(parameterized.TestCase):
  @parameterized.parameters((2.0, 1, 1e-5), (8.0, 50, 1e-5), (20.0, 100, 1e-7))
  def test_all_clients_in_each_round_is_the_gaussian_mechanism(
    self, noise_multiplier, num_rounds, delta
  ):
    # The best of all orders, not only of the orders that a library tries.
    least = min(
      _to_epsilon(
        order, num_rounds * _gaussian_rdp(order, noise_multiplier), delta
      )
      for order in np.linspace(1.01, 100, 100_000)
    )
    found = _compute(
      noise_multiplier=noise_multiplier,
      clients_per_round=100,
      num_rounds=num_rounds,
      delta=delta,
    )
    self.assertBetween(found, least, 1.01 * least)

  @parameterized.parameters((4.0, 800), (1.0, 1), (8.0, 100))
  def test_cohort_of_some_is_no_more_than_was_proved(
    self, noise_multiplier, num_rounds
  ):
    proved = min(
      _to_epsilon(
        order, num_rounds * _sampled_rdp(order, 0.1, noise_multiplier), _DELTA
      )
      for order in range(2, 60)
    )
    found = _compute(noise_multiplier=noise_multiplier, num_rounds=num_rounds)
    # Later bounds are tighter, by at most half in these cases.
    self.assertBetween(found, proved / 2, proved * 1.0001)

  def test_nothing_or_everything_is_told(self):
    self.assertEqual(_compute(num_rounds=0), 0.0)
    self.assertEqual(_compute(clients_per_round=0), 0.0)
    self.assertEqual(_compute(noise_multiplier=0.0), math.inf)


if __name__ == '__main__':
  absltest.main()
