# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of parallel averaging against whole rounds in NumPy."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import batch_label_reference
from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.core import rounds

# Confidences of the untrained model are above, so that clients train at once.
_THRESHOLD = 0.36

_train_batch_labels = functools.partial(
  batch_label_reference.train_client, threshold=_THRESHOLD
)
_train_fix = functools.partial(
  fix_mix_reference.train_client, threshold=_THRESHOLD, mix_loss_weight=0.0
)


def _average_by_groups(server, clients):
  """The mean of two groups' means; the server is in both groups."""
  half = len(clients) // 2
  groups = [server, *clients[:half]], [server, *clients[half:]]
  return [
    np.mean([np.mean(arrays, axis=0) for arrays in members], axis=0)
    for members in zip(
      *(list(zip(*group, strict=True)) for group in groups), strict=True
    )
  ]


def _average_with_half(server, clients):
  return [
    s / 2 + np.mean(arrays, axis=0) / 2
    for s, arrays in zip(server, zip(*clients, strict=True), strict=True)
  ]


def _average_of_all(server, clients):
  return [
    np.mean(arrays, axis=0) for arrays in zip(server, *clients, strict=True)
  ]


class RoundsTest(simulation_test_case.SimulationTestCase):
  @pytest.mark.slow
  def test_fedavg_fixmatch_equals_numpy_d35(self):
    self._check(
      'fedavg_fixmatch', {}, _train_batch_labels, _average_with_half, [1, 2, 0]
    )

  @pytest.mark.slow
  def test_rounds_with_a_plain_average_equal_numpy_d35(self):
    self._check(
      'fedavg_fixmatch',
      {'plain_average': True},
      _train_batch_labels,
      _average_of_all,
      [1, 2, 0],
    )

  @pytest.mark.slow
  def test_fedrgd_with_even_groups_is_the_average_of_their_averages_d38(self):
    self._check(
      'fedrgd_as_in_semifl',
      {},
      _train_batch_labels,
      _average_by_groups,
      [1, 2],
    )

  def test_parallel_semifl_and_its_momentum_without_clients(self):
    process = self._check(
      'parallel_semifl', {}, _train_fix, _average_with_half, [1, 2, 0]
    )
    # Without clients, momentum decays and is applied; in alternate training it
    # is kept.
    state = process.initialize()._replace(round_num=1)
    ones = tf.nest.map_structure(np.ones_like, state.finalizer)
    problem = linear_problem.LinearProblem()
    output = process.next(
      state._replace(
        finalizer={**state.finalizer, 'accumulator': ones['accumulator']}
      ),
      problem.server_data,
      [],
    )
    sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
    problem.train_server(sgd, 1)
    for found, expected in zip(
      output.state.global_model_weights.trainable, sgd.weights, strict=True
    ):
      np.testing.assert_allclose(found, expected - 0.5, rtol=1e-4, atol=1e-5)
    for array in output.state.finalizer['accumulator']:
      np.testing.assert_allclose(array, 0.5 * np.ones_like(array))

  def _check(self, system_name, changes, train_client, average, last_cohort):
    problem = linear_problem.LinearProblem()
    process = linear_problem.build(
      system_name, {'confidence_threshold': _THRESHOLD, **changes}
    )
    # The server's momentum continues, from whatever weights the server starts.
    for round_num, cohort, federation, output in linear_problem.follow(
      process, ([], [2, 0], last_cohort)
    ):
      received = federation.sgd.weights
      trained = [
        problem.train_client(train_client, received, client_id, round_num)
        for client_id in cohort
      ]
      clients = [r.weights for r in trained if r.num_confident]
      self.assertEqual(
        output.metrics['client']['num_participating'], len(clients)
      )
      federation.sgd.weights = list(received)
      problem.train_server(federation.sgd, round_num)
      tuned = federation.sgd.weights
      federation.step(
        received if 'plain_average' in changes else tuned,
        average(tuned, clients) if clients else tuned,
      )
    self.assertNotEmpty(clients)
    return process


class ServerShareTest(parameterized.TestCase):
  @parameterized.parameters(1, 2, 3, 10)
  def test_of_two_groups_is_the_mean_of_both_ways_to_divide_d38(self, number):
    smaller = number // 2
    groups = (smaller + 1, number - smaller + 1)
    share = rounds.of_two_groups(tf.constant(float(number))).numpy()
    self.assertAlmostEqual(
      share, np.mean([1 / size for size in groups]), places=6
    )
    # The remaining weight is the clients': a client's weight is the mean over
    # both groups.
    client = (smaller / groups[0] + (number - smaller) / groups[1]) / 2 / number
    self.assertAlmostEqual((1 - share) / number, client, places=6)


if __name__ == '__main__':
  absltest.main()
