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
from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import flfl

_DECAY = 0.8
_CHANGES = {
  'selection': 'class_adaptive',
  'alignment': 'distribution',
  'alignment_decay': _DECAY,
  'regularizer': 'sharpness_aware',
  'consistency_threshold': 0.4,
  'weighting': 'learning_status',
}
# Updates and labels of clients in round 0 are ignored.
_COHORTS = ([1], [2, 0], [1, 2], [])


class AlignmentTest(absltest.TestCase):
  def test_labels_and_confidence(self):
    # Divided by the class shares: 0.6 / 0.8 and 0.4 / 0.2, normalized to 3 / 11
    # and 8 / 11.
    labels = flfl.DistributionAlignment().label(
      client_updates.of_labels(guidance=tf.constant([0.8, 0.2])),
      tf.math.log(tf.constant([[0.6, 0.4]])),
    )
    np.testing.assert_array_equal(labels.labels, [1])
    np.testing.assert_allclose(
      labels.probabilities, [[3 / 11, 8 / 11]], rtol=1e-4
    )
    np.testing.assert_allclose(labels.unaligned, [[0.6, 0.4]], rtol=1e-6)

  def test_class_that_was_never_predicted_is_raised_within_bounds(self):
    logits = client_prior.align(tf.zeros([1, 2]), tf.constant([1.0, 0.0]))
    np.testing.assert_allclose(logits, [[0, np.log(1e6)]], atol=1e-5)


def _select(probabilities):
  """Equations 7 to 9 of (FL)^2 for one client."""
  shares = probabilities.mean(axis=0)
  thresholds = probabilities.max(axis=1).mean() * shares / shares.max()
  return probabilities.max(axis=1) >= thresholds[probabilities.argmax(axis=1)]


class ProcessTest(simulation_test_case.SimulationTestCase):
  def test_rounds_label_select_and_keep_as_numpy(self):
    problem = linear_problem.LinearProblem()
    process = linear_problem.build(
      'composed_semifl', _CHANGES, returns_given_labels=True
    )
    state = process.initialize()
    shares, num_left_out = np.full(3, 1 / 3), 0
    for round_num, cohort in enumerate(_COHORTS):
      # Labels are predictions of the model before the round.
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
        aligned = [p / (shares + 1e-6) for p in own]
        aligned = [p / p.sum(axis=1, keepdims=True) for p in aligned]
        labels = np.concatenate([p.argmax(axis=1) for p in aligned])
        is_selected = np.concatenate([_select(p) for p in aligned])
        np.testing.assert_array_equal(
          np.concatenate([given.label for given in output.given_labels]), labels
        )
        num_left_out += np.sum(~is_selected)
        self.assertAlmostEqual(
          float(output.metrics['client']['label_ratio']),
          np.mean(is_selected),
          places=6,
        )
        if round_num:
          mean = np.concatenate(own).mean(axis=0)
          shares = _DECAY * shares + (1 - _DECAY) * mean
      np.testing.assert_allclose(state.guidance['alignment'], shares, rtol=1e-5)
    # The test is meaningful only if some images are not selected.
    self.assertGreater(num_left_out, 0)


if __name__ == '__main__':
  absltest.main()
