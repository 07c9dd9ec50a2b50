# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading recorded settings and trained models."""

import pathlib
import sys
import types
from typing import Any, NamedTuple
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl import settings
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import restored_settings
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.experiment import training
from tff_semifl.models import functional


class _State(NamedTuple):
  """A state with the fields of all processes, and one more."""

  global_model_weights: Any
  other: Any


def _restore(values, system_name='semifl', **instead):
  return restored_settings.restore(
    hparams_file.Hparams(system_name, values, None, {}),
    instead,
  )


class RecordedTest(parameterized.TestCase):
  def test_settings_have_the_values_that_they_had(self):
    values = {
      'task': 'cifar10',
      'seed': 7,
      'model_width': None,
      'learning_rate': 0.25,
      'clip_norm': 2,
      'jit_compile': True,
    }
    restored = settings.as_dict(_restore(values))
    self.assertContainsSubset(values.items(), restored.items())

  @parameterized.parameters(*sorted(system_registry.SYSTEMS))
  def test_all_that_is_recorded_of_a_system_is_restored(self, system_name):
    created = experiment_settings.create(
      system_name,
      system_registry.SYSTEMS[system_name],
      task_registry.ChosenTask(),
      {'seed': 7},
    )
    filled = filled_settings.fill_in(
      created, task_registry.TASKS['digits'].create()
    )
    run = run_settings.RunSettings().fill_in(filled)
    values = experiment_folder.record(filled, run)
    self.assertEqual(_restore(values, system_name), filled)

  def test_settings_of_a_part_from_outside_are_restored(self):
    outside = types.ModuleType('outside')
    outside.create_model = lambda task, seed: None
    values = {'model': 'outside:create_model', 'normalization': 'group'}
    with mock.patch.dict(sys.modules, outside=outside):
      restored = settings.as_dict(_restore(values))
    self.assertContainsSubset(values.items(), restored.items())

  def test_what_the_task_decided_is_left_to_it(self):
    """The number of clients is recorded, although the task determines it."""
    found = _restore(
      {
        'task': 'image_folder',
        'image_dir': 'photos',
        'num_clients': 3,
        'num_labeled': 4,
        # As in records of versions that wrote all settings for every system.
        'partition': None,
        'clipping_quantile': None,
      }
    )
    self.assertEqual(found.data.task.image_dir, 'photos')
    self.assertNotIn('num_clients', settings.as_dict(found))

  @parameterized.parameters(
    ({'no_such_setting': 3}, 'another version .* has not: no_such_setting=3$'),
    # A flag of another program.
    ({'output_file': ['a.png']}, 'another version .*: output_file='),
    ({'task': 'mnist'}, 'task=mnist: .*must be one of digits, cifar10'),
    ({'seed': 'three'}, 'seed=three: '),
    ({'learning_rate': 0}, 'learning_rate=0.0: must be above 0'),
  )
  def test_values_that_cannot_be(self, values, message):
    with self.assertRaisesRegex(saved_experiment.SavedExperimentError, message):
      _restore(values)


class SavedExperimentTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'experiment'

  def _open(self):
    return experiment_folder.ExperimentFolder(
      self.path, hparams_file.create({}, data='some images')
    )

  def test_folder_that_is_none_of_an_experiment(self):
    with self.assertRaisesRegex(
      saved_experiment.SavedExperimentError,
      '^is no folder of an experiment.*/experiment/hparams.json: No such file',
    ):
      saved_experiment.read_hparams(self.path)

  def _save(self, version):
    weights = functional.ModelWeights(
      (np.full([2, 3], version, np.float32), np.float32([4])),
      (np.float32([5, version]),),
    )
    state = training.ProgramState(
      _State(weights, (np.int32(1), np.float32([2]))), version, 0.25, 0.5
    )
    self._open().checkpoints().save(state, version)
    return weights

  def test_newest_model(self):
    self._save(1)
    weights = self._save(2)
    found = saved_experiment.read_trained_model(self.path)
    self.assertEqual(
      (found.round_num, found.accuracy, found.best_accuracy), (2, 0.25, 0.5)
    )
    for arrays, expected in (
      (found.weights.trainable, weights.trainable),
      (found.weights.non_trainable, weights.non_trainable),
    ):
      self.assertLen(arrays, len(expected))
      for array, value in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, value)

  def test_without_a_checkpoint(self):
    self._open()
    with self.assertRaisesRegex(
      saved_experiment.SavedExperimentError, '^has no checkpoint yet'
    ):
      saved_experiment.read_trained_model(self.path)


if __name__ == '__main__':
  absltest.main()
