# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the diversity of updates under all aggregators (E.5, D51)."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests import batch_label_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.privacy import privacy_key

_THRESHOLD = 0.36
_COHORT = [2, 0, 1]


@functools.cache
def _build(
  system_name='batch_label_semifl', *, classifier=None, key=None, **changes
):
  return linear_problem.build(
    system_name,
    {'confidence_threshold': _THRESHOLD, **changes},
    classifier=classifier,
    privacy_key=key,
  )


class WeightDiversityTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.problem = linear_problem.LinearProblem()

  def _measure(self, process, cohort):
    state = process.initialize()._replace(round_num=np.int32(1))
    measured = process.next(
      state, self.problem.server_data, self.problem.client_data(cohort)
    ).metrics['client']
    return measured['weight_diversity'], measured['relative_weight_diversity']

  def _expected(self, weights):
    """Returns both in NumPy, by what each client trains from the weights."""
    kernel = np.asarray(weights[0], np.float64)
    updates = [
      self.problem.train_client(
        batch_label_reference.train_client,
        weights,
        client_id,
        round_num=1,
        threshold=_THRESHOLD,
      ).weights[0]
      - kernel
      for client_id in _COHORT
    ]
    squares = sum(np.sum(update**2) for update in updates)
    diversity = squares / np.sum(sum(updates) ** 2)
    # Or it would be the same whatever is measured.
    assert diversity * len(_COHORT) > 1.01
    return diversity, diversity * len(_COHORT)

  @parameterized.named_parameters(
    ('mean', 'batch_label_semifl', {'aggregator': 'mean'}),
    (
      'quantized',
      'batch_label_semifl',
      {'aggregator': 'compression', 'quantization_bits': 2},
    ),
  )
  def test_equals_numpy(self, system_name, changes):
    self._check(system_name, changes)

  def _check(self, system_name, changes):
    process = _build(system_name, **changes)
    weights = process.initialize().global_model_weights.trainable
    np.testing.assert_allclose(
      self._measure(process, _COHORT), self._expected(weights), rtol=1e-3
    )

  def test_private_updates_are_not_measured(self):
    process = _build.__wrapped__(
      aggregator='differential_privacy',
      noise_multiplier=1.0,
      key=privacy_key.PrivacyKey.draw(),
    )
    np.testing.assert_array_equal(self._measure(process, _COHORT), [np.nan] * 2)

  def test_without_clients_there_is_none(self):
    np.testing.assert_array_equal(self._measure(_build(), []), [np.nan] * 2)


if __name__ == '__main__':
  absltest.main()
