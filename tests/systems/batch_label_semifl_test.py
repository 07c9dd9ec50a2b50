# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of SemiFL with labels made batch by batch (D.4)."""

import functools

from absl.testing import absltest

from tests import batch_label_reference
from tests import simulation_test_case
from tests.core import linear_problem

# Below what the untrained model is sure of, so that clients train at once.
_THRESHOLD = 0.36


@functools.cache
def _build(system_name='batch_label_semifl'):
  return linear_problem.build(system_name, {'confidence_threshold': _THRESHOLD})


class BatchLabelSemiFLTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    """Server alone (D1), then two cohorts, then the server after each."""
    problem = linear_problem.LinearProblem()
    for round_num, cohort, federation, output in linear_problem.follow(
      _build(), ([], [2, 0], [1, 2])
    ):
      rounds = [
        problem.train_client(
          batch_label_reference.train_client,
          federation.sgd.weights,
          client_id,
          round_num,
          threshold=_THRESHOLD,
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


if __name__ == '__main__':
  absltest.main()
