# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the accuracy of each client, by labels that only measure."""

import csv
from unittest import mock

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import small_digits
from tests.experiment import saved_run
from tests.experiment import small_own_task
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import accuracy_of_clients
from tff_semifl.experiment import evaluated_images
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running

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

  def _run(self, experiment):
    folder = experiment_folder.open_folder(experiment)
    with runtime.simulation_context():
      final = running.run(experiment, folder, quiet=True)
    return folder.path, final

  @pytest.mark.slow
  def test_training_is_the_same_to_the_last_bit(self):
    labels = np.split(_LABELS[:32], np.cumsum(_SIZES)[:-1])
    plain, _ = self._run(self._create('plain'))
    # Half of the labels are wrong, which would change training.
    labels[0] = 1 - labels[0]
    measured, _ = self._run(self._create('measured', labels))
    expected, found = map(saved_run.read, (plain, measured))
    self.assertEqual(found.arrays, expected.arrays)
    for row, other in zip(found.rows, expected.rows, strict=True):
      # Labels also measure the quality of pseudo-labels.
      different = {name for name in row if row[name] != other[name]}
      self.assertLessEqual(
        different,
        {
          'client/pseudo_accuracy',
          'client/threshold_accuracy',
          'client/micro_threshold_accuracy',
        },
      )

  @parameterized.parameters(
    (None, ['0', '1', '2']), (['ä', 'b', 'c, d'], ['ä', 'b', 'c, d'])
  )
  def test_table_counts_the_images_of_each_client(self, names, shown):
    labels = [_LABELS[:10], None, [1, -1, 1, 0, -1, 1]]
    experiment = self._create('mine', labels, names=names, client_accuracy=True)
    path, final = self._run(experiment)
    pixels = _PIXELS[:32, ..., np.newaxis]
    predicted = evaluated_images.compute_logits(
      experiment, final.state.global_model_weights, pixels
    ).argmax(axis=1)
    with (path / 'client_accuracy.csv').open(newline='') as file:
      rows = list(csv.DictReader(file))
    self.assertEqual(
      [(row['client'], row['images'], row['right']) for row in rows],
      [
        (shown[0], '10', str(np.sum(predicted[:10] == _LABELS[:10]))),
        (
          shown[2],
          '4',
          str(np.sum(predicted[[26, 28, 29, 31]] == [1, 1, 0, 1])),
        ),
      ],
    )
    for row in rows:
      accuracy = int(row['right']) / int(row['images'])
      self.assertAlmostEqual(float(row['accuracy']), accuracy)
      self.assertBetween(accuracy, float(row['low']), float(row['high']))
    self.assertTrue((path / 'client_accuracy.png').exists())
    spread = accuracy_of_clients.read(path)
    self.assertEqual(spread.num_clients, 2)
    self.assertStartsWith(
      accuracy_of_clients.describe(spread),
      f'accuracy of 2 clients with labels: mean {spread.mean:.1%},',
    )

  def test_refuses_where_no_client_has_a_label(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^client_accuracy=True: no image of a client has'
    ):
      self._create('mine', client_accuracy=True)

  def test_labels_of_nobodys_images_are_refused(self):
    with self.assertRaisesRegex(ValueError, '^unlabeled_labels: found some'):
      own_data.own_data(
        (_PIXELS, _LABELS),
        (_PIXELS, _LABELS),
        unlabeled=_PIXELS,
        unlabeled_labels=_LABELS,
      )


if __name__ == '__main__':
  tf.test.main()
