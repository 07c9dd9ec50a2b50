# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of parts of later methods, alone and combined, against NumPy."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import client_updates
from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.algorithms import cohort_averages

_TAU, _DECAY = 0.5, 0.8
_CHANGES = {
  'selection': 'flexmatch',
  'confidence_threshold': _TAU,
  'alignment': 'distribution',
  'alignment_decay': _DECAY,
  'alignment_strength': 0.5,
  'regularizer': 'sharpness_aware',
  'consistency_threshold': 0.4,
  'weighting': 'learning_status',
}
# Updates and labels of clients in round 0 do not count.
_COHORTS = ([1], [2, 0], [1, 2], [])


class AlignmentTest(absltest.TestCase):
  def test_labels_and_confidence(self):
    # Divided by the shares: 0.6 / 0.8 and 0.4 / 0.2, so 3 / 11 and 8 / 11.
    labels = cohort_averages.DistributionAlignment().label(
      client_updates.of_labels(guidance=tf.constant([0.8, 0.2])),
      tf.math.log(tf.constant([[0.6, 0.4]])),
    )
    np.testing.assert_array_equal(labels.labels, [1])
    np.testing.assert_allclose(
      labels.probabilities, [[3 / 11, 8 / 11]], rtol=1e-4
    )
    np.testing.assert_allclose(labels.unaligned, [[0.6, 0.4]], rtol=1e-6)

  def test_class_that_was_never_predicted_is_raised_within_bounds(self):
    logits = cohort_averages.align(tf.zeros([1, 2]), tf.constant([1.0, 0.0]))
    np.testing.assert_allclose(logits, [[0, np.log(1e6)]], atol=1e-5)


def _thresholds(of_class, of_none):
  """FlexMatch's section 3.2 in NumPy."""
  most = max(max(of_class), of_none)
  learned = np.array(of_class) / most if most else np.zeros(len(of_class))
  return _TAU * learned / (2 - learned)


class ProcessTest(simulation_test_case.SimulationTestCase):
  def test_rounds_label_select_and_keep_as_numpy(self):
    problem = linear_problem.LinearProblem()
    process = linear_problem.build(
      'composed_semifl', _CHANGES, returns_given_labels=True
    )
    state = process.initialize()
    shares, of_class, of_none = np.full(3, 1 / 3), np.zeros(3), 0.0
    num_left_out = 0
    for round_num, cohort in enumerate(_COHORTS):
      # Labels are given by the model before the round.
      weights = [np.array(w) for w in state.global_model_weights.trainable]
      images = [problem.clients[client_id][1] for client_id in cohort]
      own = [
        linear_reference.softmax(linear_reference.logits(weights, each))
        for each in images
      ]
      output = process.next(
        state, problem.server_data, problem.client_data(cohort)
      )
      state = output.state
      if cohort:
        p = np.concatenate(own) / np.sqrt(shares + 1e-6)
        p /= p.sum(axis=1, keepdims=True)
        labels, confidences = p.argmax(axis=1), p.max(axis=1)
        np.testing.assert_array_equal(
          np.concatenate([given.label for given in output.given_labels]), labels
        )
        is_selected = confidences >= _thresholds(of_class, of_none)[labels]
        num_left_out += np.sum(~is_selected)
        self.assertAlmostEqual(
          float(output.metrics['client']['label_ratio']),
          np.mean(is_selected),
          places=6,
        )
        if round_num:
          is_sure = confidences >= _TAU
          of_class = np.bincount(labels[is_sure], minlength=3)
          of_none = np.sum(~is_sure)
          mean = np.concatenate(own).mean(axis=0)
          shares = _DECAY * shares + (1 - _DECAY) * mean
      kept = state.guidance
      np.testing.assert_array_equal(kept['selection'].of_class, of_class)
      self.assertEqual(kept['selection'].of_none, of_none)
      np.testing.assert_allclose(kept['alignment'], shares, rtol=1e-5)
    # Some labels are confident and some are not, or this shows little.
    self.assertGreater(of_class.max(), 0)
    self.assertGreater(of_none, 0)
    self.assertGreater(num_left_out, 0)


if __name__ == '__main__':
  absltest.main()
