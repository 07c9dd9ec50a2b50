# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of restoring settings from the record of an experiment."""

import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl import settings
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry


def _restore(values, system_name='semifl', **instead):
  return experiment_folder.restore(
    hparams_file.Hparams(system_name, values, None, {}),
    task_registry.ChosenTask(),
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
    values = {'model': 'outside:create_model', 'input_range': '0_to_1'}
    with mock.patch.dict(sys.modules, outside=outside):
      restored = settings.as_dict(_restore(values))
    self.assertContainsSubset(values.items(), restored.items())

  def test_how_it_was_computed_does_not_matter(self):
    run = {'ray_address': 'a:1', 'runtime': 'ray', 'output_dir': 'mine'}
    self.assertEqual(_restore({'seed': 7, **run}), _restore({'seed': 7}))

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

  def test_some_may_be_chosen_anew(self):
    values = {'task': 'cifar10', 'data_dir': 'there', 'seed': 7}
    found = settings.as_dict(_restore(values, data_dir='here'))
    self.assertEqual((found['data_dir'], found['seed']), ('here', 7))

  @parameterized.parameters(
    ({'no_such_setting': 3}, 'another version .* has not: no_such_setting=3$'),
    # A flag, but of another program.
    ({'output_file': ['a.png']}, 'another version .*: output_file='),
    ({'task': 'mnist'}, 'task=mnist: .*must be one of digits, cifar10'),
    ({'seed': 'three'}, 'seed=three: '),
    ({'learning_rate': 0}, 'learning_rate=0.0: must be above 0'),
  )
  def test_values_that_cannot_be(self, values, message):
    with self.assertRaisesRegex(saved_experiment.SavedExperimentError, message):
      _restore(values)


if __name__ == '__main__':
  absltest.main()
