# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FedMatch with labels at the server, against NumPy (D.6, D40)."""

import dataclasses
import functools

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import decomposed_reference
from tests import fedmatch_reference
from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tff_semifl.baselines.fedmatch import fedmatch_training
from tff_semifl.baselines.fedmatch import helpers as helpers_lib

_SEED = 11
_PHI = fedmatch_reference.PHI
_LEARNING_RATE = 0.03
_THRESHOLD = 0.45
_LOSS_WEIGHTS = fedmatch_training.ClientLossWeights(
  consistency=2.0, agreement=0.7, l1=0.03, l2=0.2
)
_KERNEL = 'float32[2,2,1,4]'


def _create():
  system = small_systems.create(
    'fedmatch',
    {
      'learning_rate': _LEARNING_RATE,
      'server_batch_size': 2,
      'client_batch_size': 3,
      'confidence_threshold': _THRESHOLD,
    },
  )
  return dataclasses.replace(system, client_loss_weights=_LOSS_WEIGHTS)


def _create_ingredients():
  return small_systems.create_ingredients(
    classifier=decomposed_reference.create_classifier(),
    strong_augmentation=linear_reference.inverted,
    seed=_SEED,
  )


@functools.cache
def _build():
  return _create().build(_create_ingredients())


def _stack(models):
  """Returns the helpers' models that a client receives."""
  return (np.reshape(models, [-1, 2, 2, 1, 4]).astype(np.float32),)


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy_d40(self):
    """Server alone, then two cohorts, the second with helpers for one."""
    problem = linear_problem.LinearProblem()
    process = _build()
    state = process.initialize()
    weights = state.global_model_weights.trainable
    probe = helpers_lib.create_probe_image(linear_reference.IMAGE_SHAPE, _SEED)
    models = {}
    for round_num, cohort in enumerate(([], [2, 0], [1, 2])):
      helpers = [
        [models[0], models[2]] if client == 2 and round_num == 2 else []
        for client in cohort
      ]
      output = process.next(
        state,
        problem.server_data,
        problem.client_data(cohort),
        [_stack(each) for each in helpers],
      )
      state = output.state
      weights = fedmatch_reference.train_server(
        weights,
        problem.images,
        problem.labels,
        learning_rate=_LEARNING_RATE,
        batch_size=2,
        loss_weight=10.0,
      )
      updates = [
        fedmatch_reference.train_client(
          weights,
          problem.clients[client][1],
          helpers_of_client,
          client_id=client,
          round_num=round_num,
          seed=_SEED,
          learning_rate=_LEARNING_RATE,
          batch_size=3,
          threshold=_THRESHOLD,
          loss_weights=_LOSS_WEIGHTS,
          strong=linear_reference.inverted,
        )
        for client, helpers_of_client in zip(cohort, helpers, strict=True)
      ]
      for client, update, model in zip(
        cohort, updates, output.memories, strict=True
      ):
        models[client] = update.phi
        self.assertTrue(model.is_usable)
        np.testing.assert_allclose(
          model.phi[0], update.phi, rtol=1e-4, atol=1e-5
        )
        (expected,) = fedmatch_reference.probabilities(
          weights, update.phi, probe
        )
        np.testing.assert_allclose(model.output, expected, rtol=1e-4)
      if updates:
        weights[_PHI] = np.mean([update.phi for update in updates], axis=0)
        self._assert_metrics(output.metrics['client'], updates)
      for found, expected in zip(
        state.global_model_weights.trainable, weights, strict=True
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    self.assertGreater(updates[1].consistency, 0)
    self.assertEqual(updates[0].consistency, 0)

  def _assert_metrics(self, metrics, updates):
    num_confident = sum(update.num_confident for update in updates)
    self.assertGreater(num_confident, 0)
    np.testing.assert_allclose(
      metrics['loss'],
      sum(update.loss * update.num_confident for update in updates)
      / num_confident,
      rtol=1e-4,
    )
    np.testing.assert_allclose(
      metrics['accuracy'],
      sum(update.num_correct for update in updates) / num_confident,
      rtol=1e-6,
    )
    self.assertEqual(metrics['num_participating'], len(updates))
    self.assertEqual(metrics['num_rejected'], 0)

  def test_client_whose_update_is_rejected_is_no_helper(self):
    problem = linear_problem.LinearProblem()
    process = _build()
    output = process.next(
      process.initialize(),
      problem.server_data,
      problem.client_data([0, 1]),
      # A helper with NaN weights makes the client's update NaN.
      [_stack([]), (np.full([1, 2, 2, 1, 4], np.nan, np.float32),)],
    )
    self.assertEqual(
      [bool(m.is_usable) for m in output.memories], [True, False]
    )
    self.assertEqual(output.metrics['client']['num_rejected'], 1)
    for array in tf.nest.flatten((output.state, output.memories)):
      self.assertTrue(np.all(np.isfinite(array)))


class ProbeImageTest(absltest.TestCase):
  def test_is_normal_truncated_and_a_function_of_the_seed(self):
    image, again, other = (
      helpers_lib.create_probe_image((32, 32, 3), seed) for seed in (0, 0, 1)
    )
    self.assertBetween(image.min(), 0, 5)
    self.assertBetween(image.max(), 250, 255)
    # About as many below the mean as above it: 3072 draws.
    self.assertAlmostEqual(np.mean(image < 125), 0.49, delta=0.05)
    np.testing.assert_array_equal(image, again)
    self.assertGreater(np.abs(image - other).max(), 1)


if __name__ == '__main__':
  absltest.main()
