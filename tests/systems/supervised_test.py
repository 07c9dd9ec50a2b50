# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the baselines with all labels, at clients or in one place."""

import functools

from absl.testing import absltest
import numpy as np

from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.randomness import random_seeds

_NO_IMAGES = linear_reference.labeled_dataset(
  linear_reference.create_images(0), np.array([], np.int32)
)


@functools.cache
def _build(**changes):
  return linear_problem.build('supervised_fedavg', changes)


class SupervisedFedAvgTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    """The plain mean of clients, with momentum; no server update (D.7)."""
    problem = linear_problem.LinearProblem()
    for round_num, cohort, federation, output in linear_problem.follow(
      _build(), ([], [2, 0], [1, 2]), have_labels=True
    ):
      federation.average(
        [
          problem.train_on_labels(
            federation.sgd.weights,
            problem.clients[client_id][1],
            linear_problem.true_labels(client_id),
            client_id,
            round_num,
          )
          for client_id in cohort
        ]
      )
      self.assertEqual(
        output.metrics['client']['num_participating'], len(cohort)
      )
      # Clients do not label.
      self.assertTrue(np.isnan(output.metrics['client']['label_ratio']))

  def test_absent_classes_are_not_trained_away_d53(self):
    """Their columns only decay, by 5e-4 a step and its momentum."""
    problem = linear_problem.LinearProblem()
    moved = {}
    for mask, process in (
      (False, _build()),
      (True, _build(mask_absent_classes=True)),
    ):
      state = process.initialize()._replace(round_num=1)
      # Client 0 has the classes 0 and 1.
      output = process.next(state, _NO_IMAGES, problem.labeled_client_data([0]))
      before = state.global_model_weights.trainable[0]
      after = output.state.global_model_weights.trainable[0]
      moved[mask] = np.abs(after - before).max(axis=0)
    self.assertGreater(moved[False].min(), 1e-3)
    self.assertGreater(moved[True][:2].min(), 1e-3)
    self.assertLess(moved[True][2], 1e-3)


class CentralizedTest(simulation_test_case.SimulationTestCase):
  def test_epochs_equal_numpy(self):
    """Epoch e of T is (e - 1) / T of the way down half a cosine (D33)."""
    problem = linear_problem.LinearProblem()
    process = linear_problem.build('labels_alone', {'total_epochs': 4})
    state = process.initialize()
    sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
    for epoch in (1, 2, 3, 4):
      # Clients are there, and of no consequence.
      output = process.next(
        state, problem.server_data, problem.client_data([0, 1])
      )
      state = output.state
      sgd.learning_rate = 0.3 * (1 + np.cos(np.pi * (epoch - 1) / 4)) / 2
      order = linear_reference.order(
        5, linear_problem.SEED, random_seeds.Purpose.SERVER_ORDER, epoch - 1, 0
      )
      for batch in (order[:2], order[2:4], order[4:]):
        sgd.step((1.0, problem.images[batch], problem.labels[batch]))
      for found, expected in zip(
        state.global_model_weights.trainable, sgd.weights, strict=True
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
      self.assertAlmostEqual(
        output.metrics['learning_rate'], sgd.learning_rate, places=6
      )
      self.assertEqual(output.metrics['client']['num_participating'], 0.0)


if __name__ == '__main__':
  absltest.main()
