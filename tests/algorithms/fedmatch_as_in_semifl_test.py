# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of disjoint learning against NumPy (D.6, D40, D41)."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests import batch_label_reference
from tests import decomposed_reference
from tests import simulation_test_case
from tests.core import linear_problem

_SIGMA, _PHI, _KERNEL, _BIAS = range(4)
# Every image is above it, so that clients train at once.
_THRESHOLD = 0.34


class FedMatchAsInSemiFLTest(simulation_test_case.SimulationTestCase):
  @parameterized.named_parameters(
    ('with_bugs', True, {_SIGMA}, {_PHI}),
    ('fixed', False, {_SIGMA, _KERNEL, _BIAS}, {_PHI, _KERNEL, _BIAS}),
  )
  def test_rounds_equal_numpy_d40_d41(
    self, reproduce_bugs, server_trains, clients_train
  ):
    """Server alone (D1), then two cohorts, then the server after each."""
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
    # Weights that clients do not train have no momentum (D40).
    for index in {_SIGMA, _PHI, _KERNEL, _BIAS} - clients_train:
      np.testing.assert_array_equal(federation.velocity[index], 0)
    self.assertGreater(np.abs(federation.velocity[_PHI]).max(), 0)
    self.assertGreater(federation.sgd.num_clipped, 0)


if __name__ == '__main__':
  absltest.main()
