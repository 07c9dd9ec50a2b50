# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what a model achieves, on evaluated images and for each client."""

import csv
import pathlib
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import small_digits
from tests import small_systems
from tests.experiment import small_own_task
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.data import sources
from tff_semifl.experiment import client_results
from tff_semifl.experiment import command
from tff_semifl.experiment import model_results
from tff_semifl.experiment import own_data
from tff_semifl.experiment import running
from tff_semifl.label_shift import adaptation
from tff_semifl.label_shift import share_prior
from tff_semifl.metrics import client_accuracy


class ModelResultsTest(absltest.TestCase):
  def test_images_that_are_right_are_those_of_the_evaluation(self):
    with small_systems.without_process('labels_alone'):
      experiment = command.create_experiment(
        'labels_alone',
        small_own_task.create_task(),
        create_model=small_own_task.create_model,
      )
    weights = experiment.classifier.initial_weights
    with runtime.simulation_context():
      measured = experiment.evaluation(weights, experiment.test_dataset)
    is_right = model_results.find_right(experiment, weights)
    self.assertEqual(is_right.shape, small_own_task.LABELS.shape)
    self.assertAlmostEqual(is_right.mean(), measured['accuracy'], places=6)
    # Some are right and some wrong, so that the test compares both.
    self.assertBetween(np.sum(is_right), 1, len(is_right) - 1)


_PIXELS, _LABELS = small_own_task.PIXELS, small_own_task.LABELS
_SIZES = (10, 16, 6)


class AccuracyOfClientsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(small_digits.without_rand_augment())
    # No test here needs an exported model, which takes seconds to write.
    self.enter_context(
      mock.patch.object(running.saved_model, 'export_saved_model')
    )
    self._folder = self.create_tempdir().full_path

  def _create(self, name, unlabeled_labels=None, names=None, **changes):
    clients = np.split(_PIXELS[:32], np.cumsum(_SIZES)[:-1])
    if names is not None:
      clients = dict(zip(names, clients, strict=True))
    task = own_data.own_data(
      (_PIXELS[32:], _LABELS[32:]),
      (_PIXELS, _LABELS),
      clients=clients,
      unlabeled_labels=unlabeled_labels,
    )
    return command.create_experiment(
      'semifl',
      task,
      create_model=small_own_task.create_model,
      clients_per_round=2,
      client_epochs=1,
      total_rounds=2,
      confidence_threshold=0.5,
      output_dir=self._folder,
      experiment_name=name,
      **changes,
    )

  def test_table_counts_the_images_of_each_client(self):
    labels = [_LABELS[:10], None, [1, -1, 1, 0, -1, 1]]
    with small_systems.without_process('semifl'):
      experiment = self._create(
        'mine', labels, names=['ä', 'b', 'c, d'], client_accuracy=True
      )
    path = pathlib.Path(self._folder)
    weights = experiment.classifier.initial_weights
    client_results.write_accuracies(path, experiment, weights)
    predicted = model_results.compute_logits(
      experiment, weights, _PIXELS[:32, ..., np.newaxis]
    ).argmax(axis=1)
    with (path / 'client_accuracy.csv').open(newline='') as file:
      rows = list(csv.DictReader(file))
    num_right = np.sum(predicted[[26, 28, 29, 31]] == [1, 1, 0, 1])
    self.assertEqual(
      [(row['client'], row['images'], row['right']) for row in rows],
      [
        ('ä', '10', str(np.sum(predicted[:10] == _LABELS[:10]))),
        ('c, d', '4', str(num_right)),
      ],
    )
    for row in rows:
      accuracy = int(row['right']) / int(row['images'])
      self.assertAlmostEqual(float(row['accuracy']), accuracy)
      self.assertBetween(accuracy, float(row['low']), float(row['high']))
    self.assertTrue((path / 'client_accuracy.png').exists())
    (clients,) = client_results.read_accuracies(path)
    mean = client_accuracy.summarize(clients).mean
    (line,) = client_results.describe_accuracies([clients])
    self.assertStartsWith(
      line, f'accuracy of 2 clients with labels: mean {mean:.1%},'
    )

  def test_adapts_to_clients_on_images_that_are_held_out(self):
    labels = np.split(_LABELS[:32], np.cumsum(_SIZES)[:-1])
    with small_systems.without_process('semifl'):
      experiment = self._create('mine', labels, client_test_fraction=0.5)
    self.assertTrue(experiment.run.client_accuracy)
    data, weights = experiment.data, experiment.classifier.initial_weights
    prior = share_prior.SharePrior((0.5, 0.5), 0.1, 2.0, 0.6)
    path = pathlib.Path(self._folder)
    client_results.write_accuracies(path, experiment, weights, prior)
    found = client_results.read_accuracies(path)
    self.assertEqual([each.num_images for each in found[0]], [5, 8, 3])
    own, held_out = (
      model_results.compute_logits(experiment, weights, each.images)
      for each in (data.unlabeled, data.client_test.pool)
    )
    for adapts, clients in zip((False, True), found, strict=True):
      for client, share, tested in zip(
        clients, data.shares, data.client_test.shares, strict=True
      ):
        logits = held_out[tested]
        if adapts:
          site = adaptation.estimate_site_shares(own[share], prior)
          logits = adaptation.adapt_logits(logits, site.shares, prior).numpy()
        truth = data.client_test.pool.true_labels[tested]
        num_right = np.sum(logits.argmax(axis=1) == truth)
        self.assertEqual(client.num_right, num_right)
    self.assertTrue((path / 'client_accuracy.png').exists())
    self.assertLen([*client_results.describe_accuracies(found)], 3)

  def test_refuses_where_no_client_has_a_label(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^client_accuracy=True: no image of a client has'
    ):
      self._create('mine', client_accuracy=True)


def _create(system, settings_of_system, labels, shares):
  """What is needed of an experiment with two classes, of equal labels."""
  system = commands.create(system, settings_of_system).experiment.system
  return types.SimpleNamespace(
    settings=types.SimpleNamespace(system=system),
    task=types.SimpleNamespace(num_classes=2, class_names=('cat', 'dog')),
    data=types.SimpleNamespace(
      labeled=sources.LabeledImages(np.zeros([4]), np.array([0, 0, 1, 1])),
      unlabeled=sources.ImagePool(np.zeros([len(labels)]), np.array(labels)),
      shares=[np.array(share, int) for share in shares],
      client_names=['Ann, of Bath', 'bob', 'empty'],
    ),
  )


class ClientClassesTest(parameterized.TestCase):
  @parameterized.parameters(
    # The model is sure, and right, so that a client's shares are those of its
    # images, here with half an image more of each class.
    (
      'client_prior_semifl',
      {'prior_pseudo_count': 1.0},
      [[4 * 3.5 / 5, 1 * 0.5 / 2, 0], [4 * 1.5 / 5, 1 * 1.5 / 2, 0]],
    ),
    ('client_priors', {}, [[3, 0, 0], [1, 1, 0]]),
  )
  def test_estimates_and_says(self, system, values, expected):
    labels = [0, 0, 0, 1, 1]
    experiment = _create(system, values, labels, [[0, 1, 2, 3], [4], []])
    logits = np.float32(50 * np.eye(2)[labels])
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'metrics.csv').write_text('round,client/own/strength\n0,5.0\n')
    with mock.patch.object(
      model_results, 'compute_logits', return_value=logits
    ):
      client_results.write_classes(folder, experiment, None)
    with (folder / client_results.CLASSES).open(newline='') as file:
      found = [row['client'] for row in csv.DictReader(file)]
    self.assertEqual(found, experiment.data.client_names)
    counts = client_results.read_classes(folder)
    np.testing.assert_allclose(
      [counts['cat'], counts['dog']], expected, atol=0.06
    )
    self.assertEndsWith(
      client_results.describe_classes(experiment, counts),
      ': 3 of cat (true: 3), 2 of dog (true: 2)',
    )

  def test_is_the_default_of_client_priors_alone(self):
    for system, changes, expected in (
      ('client_priors', {}, True),
      ('client_prior_semifl', {}, False),
    ):
      command = commands.create(system, changes)
      found = command.run.fill_in(command.experiment)
      self.assertIs(found.client_classes, expected, system)

  def test_is_refused_where_nobody_estimates(self):
    for system, changes, reason in (
      ('semifl', {}, 'client_prior_semifl'),
      (
        'client_prior_semifl',
        {'aggregator': 'differential_privacy'},
        'does not cover',
      ),
    ):
      command = commands.create(system, {'client_classes': True, **changes})
      with self.assertRaisesRegex(
        settings.SettingError, f'^client_classes=True: .*{reason}'
      ):
        command.run.fill_in(command.experiment)


if __name__ == '__main__':
  tf.test.main()
