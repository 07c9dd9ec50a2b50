# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of whole rounds of SemiFL, against NumPy."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.core import learning_process
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm

_THRESHOLD = linear_problem.THRESHOLD
_NOBODY_IS_SURE = {'confidence_threshold': 1.0, 'keep_server_momentum': False}


@functools.cache
def _build(**changes):
  return linear_problem.build('semifl', changes)


class RoundTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.problem = linear_problem.LinearProblem()

  def test_three_rounds_equal_numpy(self):
    """Runs round 0 without clients, then two cohorts, with momentum 0.5."""
    for round_num, cohort, federation, output in linear_problem.follow(
      _build(), ([], [2, 0], [1, 2])
    ):
      rounds = [
        self.problem.train_client(
          fix_mix_reference.train_client,
          federation.sgd.weights,
          client_id,
          round_num,
          threshold=_THRESHOLD,
          mix_loss_weight=1.0,
        )
        for client_id in cohort
      ]
      counting = [r for r in rounds if r.num_confident]
      federation.average([r.weights for r in counting])
      self.problem.train_server(federation.sgd, round_num)
      client_metrics = output.metrics['client']
      self.assertEqual(client_metrics['num_participating'], len(counting))
      num_labeled = sum(len(self.problem.clients[c][1]) for c in cohort)
      # Without pseudo-labels, the fraction is undefined.
      np.testing.assert_allclose(
        client_metrics['label_ratio'],
        sum(r.num_confident for r in rounds) / num_labeled
        if num_labeled
        else np.nan,
        atol=1e-6,
      )
      self.assertAlmostEqual(
        output.metrics['learning_rate'],
        linear_problem.learning_rate(round_num),
        places=6,
      )
      self.assertEqual(output.state.round_num, round_num + 1)
    # The test is meaningful only if the last round averaged something.
    self.assertNotEmpty(counting)

  @parameterized.named_parameters(
    ('nobody', [], 1, {}),
    ('nobody_sure', [0, 1, 2], 1, _NOBODY_IS_SURE),
    ('before_the_first_round', [0, 1, 2], 0, {}),
  )
  def test_round_in_which_nobody_counts_is_the_server_alone(
    self, cohort, round_num, changes
  ):
    process = _build(**changes)
    state = process.initialize()._replace(round_num=round_num)
    # A momentum that must neither be applied nor decay.
    state = state._replace(
      finalizer={
        **state.finalizer,
        'accumulator': [
          np.ones_like(a) for a in state.finalizer['accumulator']
        ],
      }
    )
    output = process.next(
      state, self.problem.server_data, self.problem.client_data(cohort)
    )
    sgd = linear_reference.NumpySGD(
      state.global_model_weights.trainable, linear_problem.learning_rate(1)
    )
    self.problem.train_server(sgd, round_num)
    linear_problem.Federation(sgd).assert_equal(output.state)
    for array in output.state.finalizer['accumulator']:
      np.testing.assert_array_equal(array, np.ones_like(array))

  def test_server_momentum_that_starts_afresh(self):
    """Resets the server's momentum, as in the code at the paper's time."""
    process = _build(**_NOBODY_IS_SURE)
    state = process.initialize()
    for round_num in range(2):
      sgd = linear_reference.NumpySGD(state.global_model_weights.trainable, 0.0)
      state = process.next(state, self.problem.server_data, []).state
      self.problem.train_server(sgd, round_num)
      linear_problem.Federation(sgd).assert_equal(state)

  def test_statistics_are_those_of_the_weights_that_are_returned(self):
    """Tests that static statistics are of the weights after server training."""
    classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input(linear_reference.IMAGE_SHAPE),
          tf.keras.layers.Conv2D(
            2, 1, kernel_initializer=tf.keras.initializers.GlorotUniform(seed=0)
          ),
          static_batch_norm.StaticBatchNormalization(),
          tf.keras.layers.Flatten(),
          tf.keras.layers.Dense(
            linear_reference.NUM_CLASSES,
            kernel_initializer=tf.keras.initializers.GlorotUniform(seed=1),
          ),
        ]
      )
    )
    process = linear_problem.build('semifl', classifier=classifier)
    state = process.initialize()
    for cohort in ([], [0, 1]):
      state = process.next(
        state, self.problem.server_data, self.problem.client_data(cohort)
      ).state
      weights = state.global_model_weights
      kernel, bias, *_ = weights.trainable
      features = self.problem.images.astype(np.float64) @ kernel[0, 0] + bias
      mean, variance = weights.non_trainable
      np.testing.assert_allclose(
        mean, features.mean(axis=(0, 1, 2)), rtol=1e-4, atol=1e-3
      )
      np.testing.assert_allclose(
        variance, features.var(axis=(0, 1, 2), ddof=1), rtol=1e-4
      )

  def test_learning_process_with_bound_data_is_the_same_round(self):
    process = _build()
    problem = self.problem

    @tff.tensorflow.computation
    def server_data():
      return linear_reference.labeled_dataset(problem.images, problem.labels)

    bound_process = learning_process.bind_server_data(process, server_data)
    self.assertIsInstance(bound_process, tff.learning.templates.LearningProcess)
    state = process.initialize()._replace(round_num=1)
    client_data = problem.client_data([0, 1])
    plain = process.next(state, problem.server_data, client_data)
    bound = bound_process.next(state, client_data)
    for a, b in zip(
      plain.state.global_model_weights.trainable,
      bound_process.get_model_weights(bound.state).trainable,
      strict=True,
    ):
      np.testing.assert_array_equal(a, b)
    np.testing.assert_equal(
      dict(bound.metrics['client_work']['train']), dict(plain.metrics['client'])
    )
    restored = bound_process.set_model_weights(
      bound.state, state.global_model_weights
    )
    np.testing.assert_array_equal(
      restored.global_model_weights.trainable[0],
      state.global_model_weights.trainable[0],
    )
    self.assertEqual(restored.round_num, 2)


if __name__ == '__main__':
  absltest.main()
