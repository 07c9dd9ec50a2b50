# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a model's results, on evaluated images and for each client."""

import csv
import pathlib
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
from tff_semifl.algorithms import system as system_lib
from tff_semifl.experiment import client_results
from tff_semifl.experiment import model_results
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running
from tff_semifl.label_shift import share_prior
from tff_semifl.metrics import client_accuracy


class ModelResultsTest(absltest.TestCase):
  def test_images_that_are_right_are_those_of_the_evaluation(self):
    with small_systems.without_process('labels_alone'):
      experiment = python_experiment.create_experiment(
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
    # Some predictions are right and others wrong.
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
    return python_experiment.create_experiment(
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
          site = share_prior.estimate_site_shares(own[share], prior)
          logits = share_prior.adapt_logits(logits, site.shares, prior).numpy()
        truth = data.client_test.pool.true_labels[tested]
        num_right = np.sum(logits.argmax(axis=1) == truth)
        self.assertEqual(client.num_right, num_right)
    self.assertLen([*client_results.describe_accuracies(found)], 3)

  def test_a_system_may_predict_for_clients_in_its_own_way(self):
    labels = np.split(_LABELS[:32], np.cumsum(_SIZES)[:-1])
    with small_systems.without_process('semifl'):
      experiment = self._create('mine', labels, client_test_fraction=0.5)
    data, weights = experiment.data, experiment.classifier.initial_weights
    own = model_results.compute_logits(
      experiment, weights, data.unlabeled.images
    )

    def predict(_, client, logits):
      self.assertIsNone(client.prior)
      np.testing.assert_array_equal(
        client.logits, own[data.shares[client.number]]
      )
      return np.eye(2)[[client.number % 2] * len(logits)]

    path = pathlib.Path(self._folder)
    with mock.patch.object(system_lib.System, 'predict', predict):
      client_results.write_accuracies(path, experiment, weights)
    _, found = client_results.read_accuracies(path)
    truth = data.client_test.pool.true_labels
    self.assertEqual(
      [each.num_right for each in found],
      [
        np.sum(truth[tested] == number % 2)
        for number, tested in enumerate(data.client_test.shares)
      ],
    )

  def test_refuses_where_no_client_has_a_label(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^client_accuracy=True: no image of a client has'
    ):
      self._create('mine', client_accuracy=True)


if __name__ == '__main__':
  tf.test.main()
