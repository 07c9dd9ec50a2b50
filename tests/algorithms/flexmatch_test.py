# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of SemiFL with FlexMatch's thresholds of classes."""

from absl.testing import absltest
import numpy as np

from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem

_TAU = 0.5
# Updates and labels of clients in round 0 do not count.
_COHORTS = ([1], [2, 0], [1, 2], [])


def _thresholds(of_class, of_none):
  """FlexMatch's section 3.2 in NumPy."""
  most = max(max(of_class), of_none)
  learned = np.array(of_class) / most if most else np.zeros(len(of_class))
  return _TAU * learned / (2 - learned)


class ProcessTest(simulation_test_case.SimulationTestCase):
  def test_rounds_select_and_count_as_numpy(self):
    problem = linear_problem.LinearProblem()
    process = linear_problem.build(
      'flexmatch_semifl', {'confidence_threshold': _TAU}
    )
    state = process.initialize()
    of_class, of_none = np.zeros(3), 0.0
    for round_num, cohort in enumerate(_COHORTS):
      # Labels are given by the model before the round, as it is sent.
      weights = [np.array(w) for w in state.global_model_weights.trainable]
      thresholds = _thresholds(of_class, of_none)
      counts, num_unsure, num_selected, num_images = np.zeros(3), 0, 0, 0
      for client_id in cohort:
        images = problem.clients[client_id][1]
        probabilities = linear_reference.softmax(
          linear_reference.logits(weights, images)
        )
        labels = probabilities.argmax(axis=1)
        confidences = probabilities.max(axis=1)
        counts += np.bincount(labels[confidences >= _TAU], minlength=3)
        num_unsure += np.count_nonzero(confidences < _TAU)
        num_selected += np.count_nonzero(confidences >= thresholds[labels])
        num_images += len(images)
      output = process.next(
        state, problem.server_data, problem.client_data(cohort)
      )
      state = output.state
      if cohort:
        if round_num:
          of_class, of_none = counts, num_unsure
        self.assertAlmostEqual(
          float(output.metrics['client']['label_ratio']),
          num_selected / num_images,
          places=6,
        )
      kept = state.guidance['selection']
      np.testing.assert_array_equal(kept.of_class, of_class)
      self.assertEqual(kept.of_none, of_none)
    # Some labels are confident and some are not.
    self.assertGreater(of_class.max(), 0)
    self.assertGreater(of_none, 0)


if __name__ == '__main__':
  absltest.main()
