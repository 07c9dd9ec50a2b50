# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FedMatch with labels at the server, against NumPy."""

import asyncio
import dataclasses
import functools
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import decomposed_reference
from tests import fedmatch_reference
from tests import given_labels_reference
from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tests.experiment import linear_program
from tff_semifl import settings
from tff_semifl.baselines.fedmatch import fedmatch
from tff_semifl.baselines.fedmatch import helpers as helpers_lib
from tff_semifl.core import evaluation
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import training_loop
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import training
from tff_semifl.files import durable_files

_SEED = 11
_PHI = fedmatch_reference.PHI
_LEARNING_RATE = 0.03
_THRESHOLD = 0.45
_LOSS_WEIGHTS = fedmatch.ClientLossWeights(
  consistency=2.0, agreement=0.7, l1=0.03, l2=0.2
)


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


_create_ingredients = functools.cache(
  lambda: small_systems.create_ingredients(
    classifier=decomposed_reference.create_classifier(),
    strong_augmentation=linear_reference.inverted,
    seed=_SEED,
    returns_given_labels=True,
  )
)
_build = functools.cache(lambda: _create().build(_create_ingredients()))
_train_in_numpy = functools.partial(
  fedmatch_reference.train_client,
  seed=_SEED,
  learning_rate=_LEARNING_RATE,
  batch_size=3,
  loss_weights=_LOSS_WEIGHTS,
  strong=linear_reference.inverted,
)


def _stack(models):
  """Stacks the helpers' models, as a client receives them."""
  return (np.reshape(models, [-1, 2, 2, 1, 4]).astype(np.float32),)


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy_d40(self):
    """Runs a round of the server alone, then two cohorts, one with helpers."""
    problem = linear_problem.LinearProblem()
    process = _build()
    state = process.initialize()
    weights = state.global_model_weights.trainable
    probe = helpers_lib.create_probe_image(linear_reference.IMAGE_SHAPE, _SEED)
    # Helpers that agree on a class other than the client's.
    helper = np.random.default_rng(1).normal(scale=3, size=(2, 2, 1, 4))
    for round_num, cohort in enumerate(([], [2, 0], [1, 2])):
      helpers = [
        [helper, 1.1 * helper] if client == 2 and round_num == 2 else []
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
        _train_in_numpy(
          weights,
          problem.clients[client][1],
          helpers_of_client,
          client_id=client,
          round_num=round_num,
          threshold=_THRESHOLD,
        )
        for client, helpers_of_client in zip(cohort, helpers, strict=True)
      ]
      for update, model, given in zip(
        updates, output.memories, output.given_labels, strict=True
      ):
        given_labels_reference.assert_given(given, update.labeled)
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
    self.assertGreater(updates[1].num_outvoted, 0)
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

  def _train(self, folder, total_rounds):
    """Trains, and returns the last state; rounds 3 and 6 have helpers."""
    classifier, process = _create_ingredients().classifier, _build()
    program = dataclasses.replace(
      linear_program.create_program(total_rounds),
      process=process,
      evaluation=evaluation.build_evaluation(classifier),
    )
    return asyncio.run(
      training.train(
        program,
        checkpoints=checkpoints.Checkpoints(
          pathlib.Path(folder, 'states'), num_kept=3
        ),
        metrics_manager=experiment_folder.MetricsFile(
          pathlib.Path(folder, 'metrics.csv')
        ),
        memories=helpers_lib.Helpers(
          process,
          pathlib.Path(folder, 'clients'),
          num_clients=4,
          rounds_per_help=3,
          num_kept=3,
        ),
        on_start=lambda _: None,
        on_round=lambda *_: None,
      )
    )

  def test_resumed_run_equals_one_that_ran_through(self):
    whole, cut = (self.create_tempdir(name).full_path for name in ('a', 'b'))
    choose = helpers_lib.choose_helpers
    chosen = []

    def choose_and_note(*arguments):
      chosen.append(choose(*arguments))
      return chosen[-1]

    expected = self._train(whole, 6)
    self._train(cut, 5)
    # Round 5, in which clients stored models, is repeated.
    pathlib.Path(cut, 'states/program_state_5.npz').unlink()
    with mock.patch.object(helpers_lib, 'choose_helpers', choose_and_note):
      found = self._train(cut, 6)
    self.assertTrue(any(chosen[-1]))
    for a, b in zip(
      tf.nest.flatten(expected), tf.nest.flatten(found), strict=True
    ):
      np.testing.assert_array_equal(a, b)
    for path in sorted(pathlib.Path(whole, 'clients').glob('*/*/*.npz')):
      other = pathlib.Path(cut, path.relative_to(whole))
      a, b = map(durable_files.read_arrays, (path, other))
      np.testing.assert_equal(a, b)


class TrainClientTest(parameterized.TestCase):
  @parameterized.named_parameters(('sure_of_nothing', 9), ('no_images', 0))
  def test_without_confident_image(self, num_images):
    images = linear_reference.create_images(num_images, seed=2)
    classifier = _create_ingredients().classifier
    before = classifier.initial_weights.trainable
    optimizer = optimizers.restrict(
      tff.learning.optimizers.build_sgdm(_LEARNING_RATE),
      [index == _PHI for index in range(4)],
    )
    system = settings.change(_create(), {'confidence_threshold': 1.0})
    found = system.train_client(
      _create_ingredients(),
      optimizer,
      (tf.ones([2, 2, 2, 1, 4]),),
      tf.nest.map_structure(tf.constant, classifier.initial_weights),
      federated_process.RoundContext(
        tf.constant(_SEED), tf.constant(10), tf.constant(_LEARNING_RATE)
      ),
      {'client_id': tf.constant(3), 'image': tf.constant(images)},
      training_loop.initial_optimizer_state(optimizer, before),
    )
    expected = _train_in_numpy(
      before,
      images,
      list(np.ones([2, 2, 2, 1, 4])),
      client_id=3,
      round_num=10,
      threshold=1.0,
    )
    trained = found.training.trainable
    np.testing.assert_allclose(
      trained[_PHI], expected.phi, rtol=1e-4, atol=1e-5
    )
    # Regularization changes phi, unless the client has no images.
    self.assertEqual(
      np.abs(expected.phi - before[_PHI]).max() > 1e-3, num_images > 0
    )
    for index in (0, 2, 3):
      np.testing.assert_array_equal(trained[index], before[index])
    self.assertEqual(found.num_confident, 0)
    self.assertEqual(found.weight, float(num_images > 0))


class AgreedLabelsTest(tf.test.TestCase):
  def test_votes(self):
    def for_classes(classes):
      return np.eye(3, dtype=np.float32)[classes]

    labels = helpers_lib.agreed_labels(
      # All agree; the client is outvoted; one helper agrees; all differ, and
      # the lowest class wins.
      tf.constant(for_classes([1, 0, 2, 2])),
      tf.constant(for_classes([[1, 1, 0, 1], [1, 1, 2, 0]])),
    )
    self.assertAllEqual(labels, [1, 1, 2, 0])


class ChooseHelpersTest(parameterized.TestCase):
  def test_equals_brute_force(self):
    generator = np.random.default_rng(0)
    outputs = generator.dirichlet(np.ones(10), size=40)
    unknown = generator.choice(40, 12, replace=False)
    outputs[unknown] = np.nan
    clients = generator.permutation(40)[:15].tolist()
    self.assertNotEmpty(set(clients) & set(unknown.tolist()))
    for client, found in zip(
      clients,
      helpers_lib.choose_helpers(outputs, clients, 2),
      strict=True,
    ):
      expected = []
      if client not in unknown:
        distances = {
          other: np.linalg.norm(outputs[other] - outputs[client])
          for other in range(40)
          if other != client and other not in unknown
        }
        expected = sorted(distances, key=distances.get)[:2]
      self.assertEqual(list(found), expected)

  def test_nobody_helps_itself_even_among_equals(self):
    outputs = np.ones([5, 3])
    for client, found in enumerate(
      helpers_lib.choose_helpers(outputs, range(5), 2)
    ):
      self.assertLen(set(found), 2)
      self.assertNotIn(client, found)

  def test_no_helpers_before_there_are_enough(self):
    outputs = np.full([4, 3], np.nan)
    outputs[:2] = [[1, 0, 0], [0, 1, 0]]
    self.assertEqual(helpers_lib.choose_helpers(outputs, [0, 1], 2), [(), ()])
    outputs[3] = [0, 0, 1]
    found = helpers_lib.choose_helpers(outputs, [0, 2], 2)
    self.assertEqual([sorted(each) for each in found], [[1, 3], []])


class ProbeImageTest(absltest.TestCase):
  def test_is_normal_truncated_and_a_function_of_the_seed(self):
    image, again, other = (
      helpers_lib.create_probe_image((32, 32, 3), seed) for seed in (0, 0, 1)
    )
    self.assertBetween(image.min(), 0, 5)
    self.assertBetween(image.max(), 250, 255)
    # About half of the 3072 draws are below the mean.
    self.assertAlmostEqual(np.mean(image < 125), 0.49, delta=0.05)
    np.testing.assert_array_equal(image, again)
    self.assertGreater(np.abs(image - other).max(), 1)


if __name__ == '__main__':
  absltest.main()
