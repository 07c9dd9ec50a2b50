# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for experiments of Python programs; tests/examples runs whole ones."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.experiments import small_experiment
from tff_semifl import settings
from tff_semifl.experiments import experiment
from tff_semifl.experiments import experiment_folder
from tff_semifl.experiments import own_data
from tff_semifl.experiments import python_experiment
from tff_semifl.experiments import run_settings
from tff_semifl.systems import averaging
from tff_semifl.systems import client_trainings
from tff_semifl.tasks import digits

_IMAGES = np.arange(40 * 64, dtype=np.uint8).reshape(40, 8, 8)
_LABELS = np.arange(40) % 2
_MODEL = {'model_depth': 4, 'model_width': 1}


def _create_task(**kwargs):
  return own_data.own_data((_IMAGES, _LABELS), (_IMAGES, _LABELS), **kwargs)


def _create_model(task, seed):
  del seed  # Its weights do not matter here.
  return tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(task.num_classes),
    ]
  )


class PythonExperimentTest(parameterized.TestCase, tf.test.TestCase):
  def test_settings_are_those_of_the_command_line(self):
    changes = {'num_clients': 4, 'clients_per_round': 2, 'total_rounds': 3}
    created = python_experiment.create_experiment(
      'semifl', digits.Digits(), **changes, output_dir='elsewhere'
    )
    expected = experiment.create_experiment(
      small_experiment.create(**changes),
      run_settings.RunSettings(output_dir='elsewhere'),
    )
    self.assertEqual(
      experiment_folder.recorded_settings(created),
      experiment_folder.recorded_settings(expected),
    )
    self.assertEqual(created.run, expected.run)

  def test_clients_of_own_data(self):
    created = python_experiment.create_experiment(
      'semifl',
      _create_task(clients=[_IMAGES[:10], _IMAGES[10:]]),
      clients_per_round=2,
      **_MODEL,
    )
    self.assertEqual(created.clients.num_images, [10, 30])
    self.assertEqual(
      experiment_folder.recorded_settings(created)['task'], 'own_data'
    )
    self.assertEqual(
      experiment_folder.recorded_settings(created)['num_labeled'], 40
    )

  def test_own_data_shared_by_settings(self):
    created = python_experiment.create_experiment(
      'semifl',
      _create_task(num_labeled=10),
      num_clients=3,
      clients_per_round=2,
      **_MODEL,
    )
    # The other 30 images.
    self.assertEqual(created.clients.num_images, [10, 10, 10])
    self.assertLen(created.data.labeled.labels, 10)

  def test_own_system_and_model(self):
    system = averaging.Parallel(client=client_trainings.Fix())
    created = python_experiment.create_experiment(
      system,
      _create_task(num_labeled=10),
      create_model=_create_model,
      num_clients=3,
      clients_per_round=2,
      confidence_threshold=0.5,
    )
    self.assertEqual(created.settings.system_name, 'Parallel')
    self.assertEqual(
      experiment_folder.recorded_settings(created)['model'],
      f'{__name__}:_create_model',
    )
    self.assertEqual(
      experiment_folder.recorded_settings(created)['confidence_threshold'], 0.5
    )
    self.assertLen(created.model.layers, 2)

  @parameterized.named_parameters(
    ('system', 'semfil', {}, 'system=semfil: must be one of semifl, '),
    ('setting', 'semifl', {'num_client': 3}, 'num_client=3: there is no such'),
    (
      'setting_of_given_shares',
      'semifl',
      {'num_clients': 3},
      'num_clients=3: there is no such setting here',
    ),
    (
      'model',
      'semifl',
      {'create_model': lambda task, seed: None},
      'returned NoneType, no Keras model',
    ),
    (
      'labels_of_clients',
      'supervised_fedavg',
      {},
      'task=own_data: its clients have no labels to train on',
    ),
  )
  def test_refuses(self, system, changes, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      python_experiment.create_experiment(
        system,
        _create_task(clients=[_IMAGES]),
        **{'clients_per_round': 1, **changes},
      )


if __name__ == '__main__':
  tf.test.main()
