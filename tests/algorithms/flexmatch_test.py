# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of SemiFL with FlexMatch's thresholds of classes."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.algorithms import flexmatch
from tff_semifl.core import pseudo_labels

_TAU = 0.5
_COHORTS = ([], [2, 0], [1, 2], [])


def _thresholds(of_class, of_none):
  """FlexMatch's section 3.2 in NumPy."""
  most = max(max(of_class), of_none)
  learned = np.array(of_class) / most if most else np.zeros(len(of_class))
  return _TAU * learned / (2 - learned)


class ThresholdsTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0, 0, 0], 0), ([0, 0, 0], 9), ([3, 6, 0], 2), ([3, 6, 0], 12)
  )
  def test_equals_numpy(self, of_class, of_none):
    found = flexmatch.class_thresholds(
      flexmatch.LabelCounts(
        tf.constant(of_class, tf.float32), tf.constant(of_none, tf.float32)
      ),
      _TAU,
    )
    np.testing.assert_allclose(found, _thresholds(of_class, of_none), rtol=1e-6)

  def test_labels_are_counted_from_the_threshold_on(self):
    probabilities = [[0.5, 0.3, 0.2], [0.1, 0.4, 0.5], [0.3, 0.3, 0.4]]
    labels = pseudo_labels.from_logits(np.log(probabilities).astype(np.float32))
    counts = flexmatch.count(labels, 0.45)
    np.testing.assert_array_equal(counts.of_class, [1, 0, 1])
    self.assertEqual(counts.of_none, 1)


class ProcessTest(simulation_test_case.SimulationTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = linear_problem.build(
      'flexmatch_semifl', {'confidence_threshold': _TAU}
    )

  def test_rounds_select_and_count_as_numpy(self):
    problem = linear_problem.LinearProblem()
    state = self.process.initialize()
    of_class, of_none = np.zeros(3), 0.0
    for cohort in _COHORTS:
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
      output = self.process.next(
        state, problem.server_data, problem.client_data(cohort)
      )
      state = output.state
      if cohort:
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

  def test_labels_of_round_0_count_no_more_than_its_updates(self):
    problem = linear_problem.LinearProblem()
    begun = self.process.initialize()
    output = self.process.next(
      begun, problem.server_data, problem.client_data([0, 1, 2])
    )
    self.assertGreater(output.metrics['client']['num_participating'], 0)
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      output.state.guidance['selection'],
      begun.guidance['selection'],
    )


if __name__ == '__main__':
  absltest.main()
