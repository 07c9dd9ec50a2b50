# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of SemiFL with aggregators other than the mean."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tff_semifl import settings
from tff_semifl.privacy import privacy_key

_CLIPPING_NORM = 0.01
_PRIVATE = {'aggregator': 'differential_privacy', 'noise_multiplier': 1.0}
_REFUSED = '^aggregator=differential_privacy: .*beside updates'


def _build_system(system_name, changes):
  system = small_systems.create(
    system_name, changes, usual=linear_problem.SETTINGS
  )
  system.build(
    small_systems.create_ingredients(
      seed=0, privacy_key=privacy_key.PrivacyKey(bytes(32))
    )
  )


@functools.cache
def _build(aggregator, **changes):
  return linear_problem.build(
    'semifl',
    {
      # With three classes, most confidences are above this threshold.
      'confidence_threshold': 0.34,
      # The new weights are the mean itself: no server training, no momentum.
      'server_epochs': 0,
      'global_momentum': 0.0,
      'aggregator': aggregator,
      **changes,
    },
    privacy_key=privacy_key.PrivacyKey(bytes(32)),
  )


def _build_private(noise_multiplier=1e-6, **changes):
  return _build(
    'differential_privacy',
    noise_multiplier=noise_multiplier,
    clipping_norm=_CLIPPING_NORM,
    **changes,
  )


def _get_weights(state):
  return state.global_model_weights.trainable


def _subtract(first, second):
  return [a - b for a, b in zip(first, second, strict=True)]


class AggregationTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.problem = linear_problem.LinearProblem()

  def _run_round(self, process, cohort, round_num=1):
    state = process.initialize()._replace(round_num=round_num)
    return state, process.next(
      state, self.problem.server_data, self.problem.client_data(cohort)
    )

  def _assert_nothing_was_done(self, state, output):
    for name in ('global_model_weights', 'aggregator', 'finalizer'):
      for a, b in zip(
        tf.nest.flatten(getattr(state, name)),
        tf.nest.flatten(getattr(output.state, name)),
        strict=True,
      ):
        np.testing.assert_array_equal(a, b, err_msg=name)

  def test_robust_mean_learns_from_round_1_on(self):
    process = _build('robust')
    self._assert_nothing_was_done(*self._run_round(process, [0, 1, 2], 0))
    state, output = self._run_round(process, [0, 1, 2])
    # All three updates are longer than 1.
    before, after = (
      each.aggregator['inner_agg']['clipping_norm'][0].current_estimate
      for each in (state, output.state)
    )
    self.assertAlmostEqual(after / before, np.exp(0.2 * 0.8), places=5)

  def test_private_mean_counts_all_clients_of_the_round(self):
    """Clients without an update count too: the number of updates is secret."""
    process = _build_private()
    rounds = [
      self._run_round(process, cohort) for cohort in ([0], [1], [2], [0, 1])
    ]
    trained = [
      _subtract(_get_weights(state), _get_weights(output.state))
      for state, output in rounds
    ]
    for _, output in rounds:
      for name in ('weight_diversity', 'relative_weight_diversity'):
        self.assertTrue(np.isnan(output.metrics['client'][name]))
    for update in trained[:3]:
      # The update of a single client, clipped to the norm and divided by three.
      length = np.sqrt(sum(np.sum(array**2) for array in update))
      self.assertAlmostEqual(length / (_CLIPPING_NORM / 3), 1, places=3)
    for both, *each in zip(trained[3], *trained[:2], strict=True):
      np.testing.assert_allclose(both, sum(each), rtol=1e-3, atol=1e-6)

  def test_private_mean_is_noise_if_no_client_has_an_update(self):
    process = _build_private(1.0, confidence_threshold=1.0)
    state, output = self._run_round(process, [0, 1])
    noise = np.concatenate(
      [
        array.ravel() / (_CLIPPING_NORM / 3)
        for array in _subtract(_get_weights(output.state), _get_weights(state))
      ]
    )
    # 15 numbers with a variance of 1: four standard errors of sqrt(2 / 15).
    self.assertBetween(np.mean(noise**2), 1e-3, 1 + 4 * np.sqrt(2 / 15))
    self.assertEqual(output.metrics['client']['num_participating'], 0.0)

  @parameterized.named_parameters(
    ('before_the_first_round', [0, 1, 2], 0),
    ('nobody', [], 1),
  )
  def test_private_mean_does_nothing(self, cohort, round_num):
    process = _build_private(1.0, confidence_threshold=1.0)
    self._assert_nothing_was_done(*self._run_round(process, cohort, round_num))


class NotFilledInTest(absltest.TestCase):
  def test_what_a_process_lacks_is_named(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^noise_multiplier: must be given'
    ):
      _build_system('semifl', {**_PRIVATE, 'noise_multiplier': None})


class ReportsBesideUpdatesTest(parameterized.TestCase):
  """Tests what is refused if clients return more than updates."""

  @parameterized.product(
    system=['client_priors', 'client_prior_network'],
    aggregator=['robust', 'differential_privacy'],
  )
  def test_sums_are_neither_clipped_nor_noisy(self, system, aggregator):
    with self.assertRaisesRegex(
      settings.SettingError, f'^aggregator={aggregator}: .*mean, compression'
    ):
      _build_system(system, {'aggregator': aggregator})

  def test_reports_are_refused_with_noise(self):
    with self.assertRaisesRegex(settings.SettingError, _REFUSED):
      _build_system(
        'composed_semifl', {'alignment': 'distribution', **_PRIVATE}
      )

  def test_priors_are_not_told_the_server(self):
    _build_system('client_prior_semifl', _PRIVATE)


if __name__ == '__main__':
  absltest.main()
