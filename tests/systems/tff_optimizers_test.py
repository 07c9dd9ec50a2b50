# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Clients and server train with TFF's own optimizers."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.systems import averaging

_RATE = 0.3


class TFFOptimizersTest(
  simulation_test_case.SimulationTestCase, parameterized.TestCase
):
  @parameterized.named_parameters(
    ('adam', tff.learning.optimizers.build_adam(_RATE)),
    ('adamw', tff.learning.optimizers.build_adamw(_RATE)),
    ('adagrad', tff.learning.optimizers.build_adagrad(_RATE)),
    ('momentum', tff.learning.optimizers.build_sgdm(_RATE, 0.9)),
  )
  def test_clients_and_server_train(self, optimizer):
    problem = linear_problem.LinearProblem()
    with mock.patch.object(
      averaging.Averaging, 'create_optimizers', return_value=(optimizer,) * 2
    ):
      process = linear_problem.build('semifl', {'confidence_threshold': 0.34})
    state = process.initialize()
    for cohort in ([], [0, 1, 2]):
      before = state.global_model_weights.trainable
      output = process.next(
        state, problem.server_data, problem.client_data(cohort)
      )
      state = output.state
      for old, new in zip(
        before, state.global_model_weights.trainable, strict=True
      ):
        self.assertTrue(np.all(np.isfinite(new)))
        self.assertFalse(np.array_equal(old, new))
    self.assertEqual(output.metrics['client']['num_participating'], 3)


if __name__ == '__main__':
  absltest.main()
