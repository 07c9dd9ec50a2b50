# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of training on feature vectors."""

import pathlib

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import small_systems
from tests.data import small_features
from tests.experiment import small_own_task
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running

_ARRAYS = small_features.create()
_TRAIN = (_ARRAYS['features'], _ARRAYS['labels'])
_TEST = (_ARRAYS['test_features'], _ARRAYS['test_labels'])
_EPOCHS = 3


class TrainingTest(parameterized.TestCase, tf.test.TestCase):
  def test_labels_alone_take_the_steps_of_numpy(self):
    task = own_data.own_data(
      _TRAIN, _TEST, clients=[_ARRAYS['client_features']]
    )
    experiment = python_experiment.create_experiment(
      'labels_alone',
      task,
      # With one step an epoch, the order of labels does not matter.
      server_batch_size=len(_TRAIN[1]),
      total_epochs=_EPOCHS,
      learning_rate=0.4,
      output_dir=self.create_tempdir().full_path,
    )
    folder = experiment_folder.open_folder(experiment)
    with runtime.simulation_context():
      final = running.run(experiment, folder, quiet=True)
    features, labels = _TRAIN
    mean, deviation = (
      np.asarray(features, np.float64).mean(axis=0),
      np.asarray(features, np.float64).std(axis=0),
    )
    # The reference divides its input by 255.
    standardized = 255 * (features - mean) / deviation
    expected = linear_reference.NumpySGD(
      [np.zeros((small_features.NUM_FEATURES, 3)), np.zeros(3)], 0.4
    )
    for epoch in range(_EPOCHS):
      expected.learning_rate = 0.2 * (1 + np.cos(np.pi * epoch / _EPOCHS))
      expected.step((1.0, standardized, labels))
    weights = final.state.global_model_weights.trainable
    for found, wanted in zip(weights, expected.weights, strict=True):
      self.assertAllClose(found, wanted, rtol=1e-5, atol=1e-6)
    logits = expected.logits(255 * (_TEST[0] - mean) / deviation)
    self.assertAllClose(
      final.accuracy, (logits.argmax(axis=1) == _TEST[1]).mean()
    )

    served = tf.saved_model.load(str(folder.export_path))
    signature = served.signatures['serving_default']
    self.assertEqual(
      signature.structured_input_signature[1],
      {
        'features': tf.TensorSpec(
          [None, small_features.NUM_FEATURES], tf.float32, 'features'
        )
      },
    )
    self.assertNotIn('serving_encoded', served.signatures)
    self.assertAllClose(
      signature(features=tf.constant(_TEST[0]))['probabilities'],
      linear_reference.softmax(logits),
      atol=1e-5,
    )
    # Features have no figure of augmentations.
    self.assertFalse((folder.figures_path / 'augmentations.png').exists())

  @parameterized.parameters('semifl', 'client_prior_semifl')
  def test_client_with_huge_features_is_left_out(self, system):
    pool = _ARRAYS['client_features']
    clients = [pool[:20], pool[20:]]
    # Finite, but squares overflow float32.
    clients[1] = np.where(np.arange(20)[:, np.newaxis] % 5, clients[1], 1e20)
    experiment = python_experiment.create_experiment(
      system,
      own_data.own_data(_TRAIN, _TEST, clients=clients),
      clients_per_round=2,
      total_rounds=2,
      server_batch_size=5,
      confidence_threshold=0.4,
    )
    program = experiment
    with runtime.simulation_context():
      state = program.process.initialize()
      for round_num in range(3):
        output = program.process.next(
          state, program.server_dataset, program.clients.datasets(round_num)
        )
        state = output.state
    client = output.metrics['client']
    self.assertEqual(
      (client['num_participating'], client['num_rejected']), (1, 1)
    )
    for array in state.global_model_weights.trainable:
      self.assertTrue(np.all(np.isfinite(array)))
    # Of a hundred examples, none has a loss above a million.
    self.assertLess(client['loss'], 1e6)

  def test_by_index_is_the_same(self):
    path = pathlib.Path(self.create_tempdir().full_path) / 'small.npz'
    values = {
      'task': 'features',
      'features_file': str(small_features.save(path)),
      'total_epochs': 1,
    }
    command = commands.create('labels_alone', values)
    rounds = []
    for by_index in (False, True):
      program = experiment_lib.create_experiment(
        command.experiment, command.run, by_index=by_index
      )
      with runtime.simulation_context():
        state = program.process.initialize()
        for round_num in (0, 1):
          state = program.process.next(
            state,
            program.server_dataset,
            program.clients.datasets(round_num),
          ).state
      rounds.append(state.global_model_weights.trainable)
    for found, expected in zip(*rounds, strict=True):
      self.assertAllEqual(found, expected)
      self.assertNotAllEqual(found, np.zeros_like(found))

  @parameterized.named_parameters(
    (
      'model_of_images',
      'semifl',
      {'model': 'wide_resnet'},
      'model=wide_resnet: ',
    ),
    (
      'system_of_another_model',
      'fedmatch_as_in_semifl',
      {},
      'model=linear: ',
    ),
    (
      'augmentation_of_images',
      'semifl',
      {'strong_augmentation': 'semifl'},
      'strong_augmentation=semifl: ',
    ),
  )
  def test_refuses(self, system, values, message):
    task = own_data.own_data(_TRAIN, _TEST, clients=[_ARRAYS['features']])
    with self.assertRaisesRegex(settings.SettingError, message):
      python_experiment.create_experiment(system, task, **values)

  def test_linear_model_of_images(self):
    task = small_own_task.create_task()
    with small_systems.without_process('labels_alone'):
      experiment = python_experiment.create_experiment(
        'labels_alone', task, model='linear'
      )
    pixels = small_own_task.PIXELS[..., np.newaxis]
    self.assertAllClose(
      experiment.model.layers[1](pixels.astype(np.float32)),
      (pixels - pixels.mean()) / pixels.std(),
      rtol=1e-4,
      atol=1e-4,
    )

  def test_model_of_a_program_comes_before_that_of_a_paper(self):
    with small_systems.without_process('consistency_averaging'):
      experiment = python_experiment.create_experiment(
        'consistency_averaging',
        small_own_task.create_task(),
        create_model=small_own_task.create_model,
        num_clients=2,
        partition='iid',
        clients_per_round=1,
      )
    self.assertLen(experiment.model.layers, 2)


class OwnDataTest(parameterized.TestCase, tf.test.TestCase):
  def test_views_are_the_vectors_and_noise(self):
    task = own_data.own_data(_TRAIN, _TEST, clients=[_TRAIN[0]])
    features, seed = tf.constant(_TRAIN[0]), tf.constant([1, 2])
    self.assertAllEqual(task.weak_augmentation(features, seed), features)
    strong = task.strong_augmentation(features, seed)
    self.assertEqual(strong.dtype, tf.float32)
    noise = (strong - features) / np.std(_TRAIN[0], axis=0)
    self.assertBetween(np.std(noise), 0.4, 0.6)

  def test_unlabeled_vectors(self):
    pool = _ARRAYS['client_features']
    task = own_data.own_data(_TRAIN, _TEST, unlabeled=pool, num_labeled=3)
    self.assertEqual(task.num_labeled, 3)
    self.assertAllEqual(task.load().unlabeled, pool)

  @parameterized.named_parameters(
    (
      'other_features',
      {'test': (np.zeros((2, 5), np.float32), [0, 1])},
      'test: ',
    ),
    (
      'images_among_features',
      {'test': (np.arange(128.0).reshape(2, 8, 8), [0, 1])},
      'test: ',
    ),
    (
      'nan',
      {'unlabeled': np.full((3, 6), np.nan), 'clients': None},
      'unlabeled: ',
    ),
  )
  def test_refuses(self, changes, message):
    given = {'train': _TRAIN, 'test': _TEST, 'clients': [_TRAIN[0]]}
    with self.assertRaisesRegex(ValueError, f'^{message}'):
      own_data.own_data(**{**given, **changes})


if __name__ == '__main__':
  tf.test.main()
