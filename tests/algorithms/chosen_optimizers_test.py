# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of chosen optimizers for clients and server."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Given(averaging.Alternating):
  """SemiFL with TFF's optimizers."""

  def create_optimizers(self, classifier):
    return (
      tff.learning.optimizers.build_yogi(0.1),
      tff.learning.optimizers.build_adagrad(0.1),
    )


class OptimizersTest(simulation_test_case.SimulationTestCase):
  def _train(self, system, cohorts, **changes):
    """Yields the trainable weights before and after each round."""
    problem = linear_problem.LinearProblem()
    values = {**linear_problem.SETTINGS, 'confidence_threshold': 0.01}
    process = settings.change(system, {**values, **changes}).build(
      small_systems.create_ingredients(seed=linear_problem.SEED)
    )
    state = process.initialize()
    yield state.global_model_weights.trainable
    for cohort in cohorts:
      state = process.next(
        state, problem.server_data, problem.client_data(cohort)
      ).state
      yield state.global_model_weights.trainable

  def test_any_of_tff_trains_clients_and_server(self):
    system = _Given(client=fix_mix.FixMix())
    _, tuned, averaged = self._train(
      system, ([], [0, 2]), server_epochs=0.0, server_pretraining_epochs=1.0
    )
    self.assertGreater(np.abs(averaged[0] - tuned[0]).max(), 1e-3)
    self.assertTrue(np.isfinite(averaged[0]).all())

  @parameterized.parameters(('sgd', 'adamw'), ('adam', None), ('adamw', 'sgd'))
  def test_first_step_is_the_chosen_one(
    self, client_optimizer, server_optimizer
  ):
    initial, tuned, averaged = self._train(
      averaging.Alternating(client=fix_mix.FixMix()),
      ([], [0]),
      client_optimizer=client_optimizer,
      server_optimizer=server_optimizer,
      server_epochs=0.0,
      server_pretraining_epochs=1.0,
      server_batch_size=100,
      client_epochs=1,
      client_batch_size=100,
      global_momentum=0.0,
      learning_rate=0.01,
      server_learning_rate=0.002,
      weight_decay=0.0,
      clip_norm=0.0,
    )
    for name, before, after, rate in (
      (server_optimizer or client_optimizer, initial, tuned, 0.002),
      (client_optimizer, tuned, averaged, 0.01),
    ):
      steps = np.abs(
        np.concatenate(
          [np.ravel(a - b) for a, b in zip(after, before, strict=True)]
        )
      )
      # The first step of Adam is the learning rate times the sign of the
      # gradient.
      is_signed = np.allclose(steps, rate, rtol=0.01)
      self.assertEqual(is_signed, name != 'sgd', name)

  def test_adam_without_weight_decay_alone(self):
    system = averaging.Alternating(client=fix_mix.FixMix())
    training = self._train(
      system, (), server_optimizer='adam', weight_decay=0.1
    )
    with self.assertRaisesRegex(
      settings.SettingError, 'adam has no weight decay; set it to 0'
    ):
      next(training)


if __name__ == '__main__':
  absltest.main()
