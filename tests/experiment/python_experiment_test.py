# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of experiments in Python programs; tests/examples runs examples."""

import dataclasses

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry

_IMAGES = np.arange(40 * 64, dtype=np.uint8).reshape(40, 8, 8)
_LABELS = np.arange(40) % 2


def _create_task(**kwargs):
  return own_data.own_data((_IMAGES, _LABELS), (_IMAGES, _LABELS), **kwargs)


def _create_model(task, seed):
  del seed  # The weights do not matter here.
  return tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(task.num_classes),
    ]
  )


_MODEL = {'create_model': _create_model}


class PythonExperimentTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    for name in ('semifl', 'parallel_semifl'):
      self.enter_context(small_systems.without_process(name))
    self.enter_context(small_digits.without_rand_augment())

  def test_task_without_test_images_is_refused(self):
    task = _create_task(num_labeled=4)
    data = task.load()
    data = data._replace(test=data.test.select([]))
    task = dataclasses.replace(task, load=lambda: data)
    with self.assertRaisesRegex(settings.SettingError, '^task=own_data: '):
      python_experiment.create_experiment(
        'semifl', task, **_MODEL, num_clients=2, clients_per_round=1
      )

  @parameterized.parameters(
    ('fixmatch_labeled_clients', {}, 'has no client with labels to train on'),
    ('semifl_server_and_clients', {}, 'has no client with labels to train on'),
    (
      'semifl',
      {
        'train': None,
        'clients': [(_IMAGES[:20], _LABELS[:20]), _IMAGES[20:]],
      },
      'has no labels at the server; semifl needs some',
    ),
  )
  def test_labels_that_the_system_needs(self, system, given, message):
    test = _IMAGES, _LABELS
    task = own_data.own_data(
      **{'train': test, 'test': test, 'clients': [_IMAGES[:20], _IMAGES[20:]]}
      | given
    )
    with self.assertRaisesRegex(
      settings.SettingError, f'^task=own_data: {message}'
    ):
      python_experiment.create_experiment(system, task, **_MODEL)

  @parameterized.parameters(
    # If clients are few, all take part; if many, ten do. In 80 rounds of ten
    # clients, each client is as often in a cohort as in 800 rounds of 10 of
    # 100.
    ('semifl', 3, 3, 80),
    ('semifl', 12, 10, 80),
    # FedMatch's own default is kept: 5 of 100 clients, as in its paper.
    ('fedmatch', 12, 5, 200),
    # A round is a step.
    ('fedsgd_fixmatch', 3, 3, 800),
  )
  def test_defaults_that_suit_given_clients(
    self, system, num_clients, clients_per_round, total_rounds
  ):
    task = _create_task(clients=np.split(_IMAGES[:36], num_clients))
    part = own_data.OwnTask(prepared=task)
    filled = filled_settings.fill_in(
      experiment_settings.create(
        system,
        system_registry.SYSTEMS[system],
        task_registry.ChosenTask(task=part),
        {},
      ),
      task,
    )
    self.assertEqual(filled.system.clients_per_round, clients_per_round)
    self.assertEqual(filled.system.total_rounds, total_rounds)
    self.assertNotIn('without_clients', filled.default_name)

  def test_what_a_system_says_of_itself_stays(self):
    """A system's own default is kept, even if equal to SemiFL's default."""
    system = settings.change(
      system_registry.SYSTEMS['semifl'],
      {'clients_per_round': 10, 'total_rounds': 800},
    )
    created = python_experiment.create_experiment(
      system, _create_task(clients=np.split(_IMAGES, 10)), **_MODEL
    )
    self.assertEqual(created.total_rounds, 800)
    with self.assertRaisesRegex(
      settings.SettingError, '^clients_per_round=10: '
    ):
      python_experiment.create_experiment(
        system, _create_task(clients=np.split(_IMAGES, 5)), **_MODEL
      )

  def test_own_system_and_model(self):
    system = averaging.Parallel(client=fix_mix.Fix())
    created = python_experiment.create_experiment(
      system,
      _create_task(num_labeled=10),
      create_model=_create_model,
      num_clients=3,
      clients_per_round=2,
      confidence_threshold=0.5,
    )
    # The system is one of the registry with changed settings.
    self.assertEqual(created.settings.system_name, 'parallel_semifl')
    self.assertEqual(
      experiment_folder.recorded_settings(created)['model'],
      f'{__name__}:_create_model',
    )
    self.assertEqual(
      experiment_folder.recorded_settings(created)['confidence_threshold'], 0.5
    )
    self.assertLen(created.model.layers, 2)

  @parameterized.named_parameters(
    ('system', 'semfil', {}, 'system=semfil: did you mean semifl?'),
    ('setting', 'semifl', {'num_client': 3}, 'num_client=3: '),
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
      'task=own_data: ',
    ),
  )
  def test_refuses(self, system, changes, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      python_experiment.create_experiment(
        system,
        _create_task(clients=[_IMAGES]),
        **{'clients_per_round': 1, **changes},
      )

  def test_refuses_what_is_no_task(self):
    for task, found in (('digits', 'digits'), (_IMAGES, 'a ndarray')):
      with self.assertRaisesRegex(
        settings.SettingError, f'^task={found}: must be a task'
      ):
        python_experiment.create_experiment('semifl', task)


if __name__ == '__main__':
  tf.test.main()
