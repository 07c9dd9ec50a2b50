# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the privacy statement of recorded settings."""

from absl.testing import absltest

from tff_semifl.experiment import client_privacy


class ClientPrivacyTest(absltest.TestCase):
  _VALUES = {
    'aggregator': 'differential_privacy',
    'noise_multiplier': 4.0,
    'clipping_norm': 0.5,
    'privacy_delta': 1e-5,
    'insecure_fixed_privacy_key': None,
    'num_clients': 100,
    'clients_per_round': 10,
  }

  def test_numbers_are_those_that_were_recorded(self):
    statement = client_privacy.describe(self._VALUES, 30)
    self.assertEqual(
      statement.epsilon,
      client_privacy.compute_epsilon(
        noise_multiplier=4.0,
        num_clients=100,
        clients_per_round=10,
        num_rounds=30,
        delta=1e-5,
      ),
    )
    self.assertEqual((statement.delta, statement.num_rounds), (1e-5, 30))
    self.assertEqual(statement.clipping_norm, 0.5)

  def test_nothing_is_said_where_nothing_was_asked_for(self):
    self.assertIsNone(client_privacy.describe({'aggregator': 'mean'}, 30))
    self.assertIsNone(client_privacy.describe({}, 30))

  def test_no_epsilon_for_a_key_that_was_known(self):
    values = self._VALUES | {'insecure_fixed_privacy_key': '12' * 32}
    statement = client_privacy.describe(values, 30)
    self.assertIsNone(statement.epsilon)
    self.assertStartsWith(
      statement.headline, 'none: --insecure_fixed_privacy_key was given'
    )


if __name__ == '__main__':
  absltest.main()
