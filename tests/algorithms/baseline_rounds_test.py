# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of rounds of the simple baselines, against NumPy."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests import batch_label_reference
from tests import client_updates
from tests import decomposed_reference
from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.algorithms import supervised_fedavg
from tff_semifl.randomness import random_seeds

_SIGMA, _PHI, _KERNEL, _BIAS = range(4)
# All confidences are above this threshold, so that clients train at once.
_THRESHOLD = 0.34


class FedMatchAsInSemiFLTest(simulation_test_case.SimulationTestCase):
  @parameterized.named_parameters(
    ('with_bugs', True, {_SIGMA}, {_PHI}),
    ('fixed', False, {_SIGMA, _KERNEL, _BIAS}, {_PHI, _KERNEL, _BIAS}),
  )
  def test_rounds_equal_numpy_d40_d41(
    self, reproduce_bugs, server_trains, clients_train
  ):
    """Runs round 0 of the server alone, then two rounds with cohorts."""
    problem = linear_problem.LinearProblem()
    process = linear_problem.build(
      'fedmatch_as_in_semifl',
      {
        'confidence_threshold': _THRESHOLD,
        'reproduce_bugs': reproduce_bugs,
      },
      classifier=decomposed_reference.create_classifier(),
    )
    create_sgd = functools.partial(
      decomposed_reference.NumpySGD, trained=server_trains, masks=reproduce_bugs
    )
    for round_num, cohort, federation, output in linear_problem.follow(
      process, ([], [2, 0], [1, 2]), create_sgd=create_sgd
    ):
      rounds = [
        problem.train_client(
          batch_label_reference.train_client,
          federation.sgd.weights,
          client_id,
          round_num,
          threshold=_THRESHOLD,
          create_sgd=functools.partial(
            decomposed_reference.NumpySGD, trained=clients_train, masks=False
          ),
        )
        for client_id in cohort
      ]
      if rounds:
        self.assertGreater(sum(r.num_confident for r in rounds), 0)
      federation.average([r.weights for r in rounds])
      problem.train_server(federation.sgd, round_num)
      self.assertEqual(
        output.metrics['client']['num_participating'], len(cohort)
      )
      if rounds:
        np.testing.assert_allclose(
          output.metrics['client']['label_ratio'],
          sum(r.num_confident for r in rounds)
          / sum(r.num_labeled for r in rounds),
          rtol=1e-6,
        )
    # Weights that clients do not train have no momentum.
    for index in {_SIGMA, _PHI, _KERNEL, _BIAS} - clients_train:
      np.testing.assert_array_equal(federation.velocity[index], 0)
    self.assertGreater(np.abs(federation.velocity[_PHI]).max(), 0)
    self.assertGreater(federation.sgd.num_clipped, 0)


class SupervisedFedAvgTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    """The plain mean of clients, with momentum; the server does not train."""
    problem = linear_problem.LinearProblem()
    process = linear_problem.build('supervised_fedavg')
    for round_num, cohort, federation, output in linear_problem.follow(
      process, ([], [2, 0], [1, 2]), have_labels=True
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
      self.assertTrue(np.isnan(output.metrics['client']['label_ratio']))


class CentralizedTest(simulation_test_case.SimulationTestCase):
  def test_epochs_equal_numpy(self):
    """The learning rate is a half cosine over epochs."""
    problem = linear_problem.LinearProblem()
    process = linear_problem.build('labels_alone', {'total_epochs': 4})
    state = process.initialize()
    sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
    federation = linear_problem.Federation(sgd)
    for epoch in (1, 2, 3, 4):
      # Clients exist but have no effect.
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
      federation.assert_equal(state)
      self.assertAlmostEqual(
        output.metrics['learning_rate'], sgd.learning_rate, places=6
      )
      self.assertEqual(output.metrics['client']['num_participating'], 0.0)


class SharedImagesTest(absltest.TestCase):
  def _share(self, seed, round_num):
    """The indices of the shared images."""
    images = linear_reference.create_images(20)
    client = supervised_fedavg.TrainOnSharedLabels(shared_fraction=0.5)
    told = client.tell(
      (),
      client_updates.with_images(
        images, np.arange(20), seed=seed, round_num=round_num
      ),
    )
    numbers = told['label'].numpy()
    np.testing.assert_array_equal(told['image'], images[numbers])
    return sorted(numbers)

  def test_are_drawn_once_in_a_run(self):
    shared = self._share(seed=1, round_num=0)
    self.assertLen(set(shared), 10)
    self.assertEqual(shared, self._share(seed=1, round_num=3))
    # By chance, one order in 184,756 (20 choose 10) would do so.
    self.assertNotEqual(shared, self._share(seed=2, round_num=0))


class DataSharingTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    problem = linear_problem.LinearProblem()
    # Two of the server's five images: 1.6, rounded.
    process = linear_problem.build(
      'data_sharing',
      {
        'shared_fraction': 0.32,
        'server_pretraining_epochs': 2,
        'server_batch_size': 2,
        'global_momentum': 0.0,
      },
    )
    shared = linear_reference.order(
      5, linear_problem.SEED, random_seeds.Purpose.SHARED_IMAGE
    )[:2]
    for round_num, cohort, federation, _ in linear_problem.follow(
      process, ([], [0, 2]), have_labels=True
    ):
      trained = []
      for client_id in cohort:
        images, labels = (
          np.concatenate(each)
          for each in (
            (problem.clients[client_id][1], problem.images[shared]),
            (linear_problem.true_labels(client_id), problem.labels[shared]),
          )
        )
        trained.append(
          problem.train_on_labels(
            federation.sgd.weights, images, labels, client_id, round_num
          )
        )
      if round_num == 0:
        problem.train_server(federation.sgd, round_num)
      else:
        # Only the mean: the server does not train.
        federation.sgd.weights = [
          np.mean(arrays, axis=0) for arrays in zip(*trained, strict=True)
        ]


if __name__ == '__main__':
  absltest.main()
