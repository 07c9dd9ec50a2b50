# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the parts of (FL)^2, and of whole rounds, in NumPy."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import client_updates
from tests import flfl_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.algorithms import flfl
from tff_semifl.algorithms import training_settings
from tff_semifl.core import pseudo_labels

_RADIUS = 0.5
_SURE = 0.4
_CHANGES = {
  'perturbation_radius': _RADIUS,
  'consistency_threshold': _SURE,
  # The batch size of the linear problem.
  'client_batch_size': 3,
}


def _labels(probabilities):
  return pseudo_labels.from_logits(
    tf.math.log(tf.constant(probabilities, tf.float32))
  )


class LearningStatusTest(parameterized.TestCase):
  @parameterized.parameters(
    # 1 - (0.9 + 0.5) / 2; all predictions confident; no image.
    ([[0.9, 0.1], [0.5, 0.5]], 0.3),
    ([[1.0, 0.0]], 0.0),
    (np.zeros([0, 2]), 0.0),
  )
  def test_weighs_by_what_is_left_to_learn(self, probabilities, expected):
    weight = flfl.LearningStatus().weigh(
      client_updates.of_labels(_labels(probabilities))
    )
    self.assertAlmostEqual(float(weight), expected, places=6)


class ConsistencyTest(absltest.TestCase):
  def test_step_is_as_long_as_the_radius_in_sizes_of_weights(self):
    kernel, bias = np.array([[3.0, -0.5]]), np.array([7.0])
    step = flfl.ascent(
      [tf.constant(kernel), tf.constant(bias)],
      [tf.constant([[1.0, 2.0]], tf.float64), tf.constant([2.0], tf.float64)],
      names=('dense/kernel:0', 'dense/bias:0'),
      radius=0.1,
    )
    sizes = [np.array([[3.01, 0.51]]), np.ones(1)]
    relative = [s / size for s, size in zip(step, sizes, strict=True)]
    self.assertAlmostEqual(float(tf.linalg.global_norm(relative)), 0.1)
    # The step is along the gradient, scaled by 3.01 * 1, 0.51 * 2 and 1 * 2.
    np.testing.assert_allclose(
      relative[0][0] / relative[1], [3.01 / 2, 1.02 / 2], rtol=1e-6
    )


class ProcessTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    problem = linear_problem.LinearProblem()
    for round_num, cohort, federation, output in linear_problem.follow(
      linear_problem.build('flfl', _CHANGES), ([], [2, 0], [1, 2])
    ):
      updates = [
        problem.train_client(
          flfl_reference.train_client,
          federation.sgd.weights,
          client_id,
          round_num,
          radius=_RADIUS,
          sure=_SURE,
        )
        for client_id in cohort
      ]
      if updates:
        shares = np.array([1 - confidence for _, confidence, _ in updates])
        shares /= shares.sum()
        federation.step(
          federation.sgd.weights,
          [
            np.tensordot(shares, np.stack(arrays), 1)
            for arrays in zip(*(w for w, _, _ in updates), strict=True)
          ],
        )
      problem.train_server(federation.sgd, round_num)
      label_ratio = output.metrics['client']['label_ratio']
    num_images = sum(len(problem.clients[c][1]) for c in cohort)
    num_selected = sum(number for _, _, number in updates)
    self.assertAlmostEqual(
      float(label_ratio),
      num_selected / num_images,
      places=6,
    )
    # Some images are selected and others not, and clients' weights differ.
    self.assertBetween(num_selected, 1, num_images - 1)
    self.assertGreater(shares.max() - shares.min(), 0.005)

  def test_learning_rate_of_paper_and_code(self):
    """Tests the schedules of the paper and of the code, which differ."""
    for constant, expected in ((False, 0.015), (True, 0.03)):
      schedule = training_settings.CosineSchedule(
        total_rounds=100, constant_learning_rate=constant
      )
      # Half of the cosine is over.
      rate = schedule.create_learning_rate_fn()(tf.constant(51))
      self.assertAlmostEqual(float(rate), expected, places=6)


if __name__ == '__main__':
  absltest.main()
