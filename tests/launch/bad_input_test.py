# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a bad flag gives one line, with the flag and the remedy."""

import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow_datasets as tfds

from tests import forked_programs
from tests import small_digits
from tests.launch import programs
from tests.launch import trained_experiment
from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import commands
from tff_semifl.cli import program


def _run(*arguments, **options):
  """Runs the real program."""
  return forked_programs.run(
    'launch.train', 'semifl', *arguments, timeout=100, **options
  )


def _create(**changes):
  return commands.create('semifl', changes).create_experiment()


class BadInputTest(parameterized.TestCase):
  @parameterized.parameters(
    ('num_labeled=55', {}),
    ('num_labeled=2000', {}),
    ('num_clients=5000', {}),
    ('clients_per_round=6', {'num_clients': 5}),
    ('model_depth=9', {}),
  )
  def test_experiment_that_cannot_be_built(self, setting, others):
    name, value = setting.split('=')
    with self.assertRaisesRegex(settings.SettingError, f'^{setting}: '):
      _create(**{name: int(value)}, **others)

  def test_no_data_and_no_network(self):
    empty = self.create_tempdir().full_path
    with (
      mock.patch.object(
        tfds.core.DatasetBuilder,
        'download_and_prepare',
        side_effect=ConnectionError('no route to host'),
      ),
      self.assertRaisesRegex(
        settings.SettingError,
        f'^data_dir={empty}: .*no route to host',
      ),
    ):
      _create(task='cifar10', data_dir=empty)

  @pytest.mark.slow
  def test_folder_that_cannot_be_written_or_is_taken(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^output_dir=/proc/nothing: .*another --output_dir'
    ):
      commands.create('semifl', {'output_dir': '/proc/nothing'}).check_folder()
    mine = pathlib.Path(self.create_tempdir().full_path, 'mine')
    trained_experiment.save(mine, total_rounds=800)
    with self.assertRaisesRegex(
      settings.SettingError, 'with --total_rounds=800 and not 7'
    ):
      commands.create(
        'semifl',
        {
          'model_width': 1,
          'total_rounds': 7,
          'output_dir': str(mine.parent),
          'experiment_name': 'mine',
        },
      ).check_folder()

  @pytest.mark.slow
  def test_training_that_diverges_names_the_rate(self):
    completed = _run(
      *small_digits.FLAGS,
      '--num_clients=10',
      '--clients_per_round=0',
      '--server_epochs=1',
      '--total_rounds=1',
      '--learning_rate=1e30',
      f'--output_dir={self.create_tempdir().full_path}',
    )
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(
      completed.stderr.splitlines()[-1],
      r'^flag --learning_rate=1e\+30: weights or losses are not finite after'
      ' round 0.* Smaller steps may help',
    )

  @pytest.mark.slow
  def test_disk_that_is_full_in_mid_run_is_named(self):
    folder = self.create_tempdir().full_path
    completed = _run(
      '--task=tests.small_digits:SmallDigits',
      '--num_clients=10',
      '--clients_per_round=0',
      '--server_epochs=1',
      '--total_rounds=1',
      '--experiment_name=mine',
      f'--output_dir={folder}',
      # Enough for flags and metrics, but not for a model.
      max_file_size=20_000,
    )
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(
      completed.stderr.splitlines()[-1],
      f'^flag --output_dir={folder}: cannot write {folder}/mine/checkpoints/'
      'program_state_0.npz: File too large; .* the same command goes on',
    )
    self.assertNotIn('Traceback', completed.stderr)

  @parameterized.parameters(
    ('--task=image_folder', 'flag --image_dir: '),
    ('--skew=0.5', 'flag --skew: .*--partition=main_classes'),
    ('--clients_per_step=5', 'flag --clients_per_step: .*train semifl has no'),
  )
  def test_one_line_says_what_is_wrong(self, argument, start):
    with self.assertRaises(
      (settings.SettingError, command_line.UsageError)
    ) as raised:
      commands.parse('semifl', [argument]).create_experiment()
    line = program.describe(raised.exception)
    self.assertRegex(line, f'^{start}')
    self.assertLen(line.splitlines(), 1)

  def test_system_comes_first(self):
    completed = programs.run_module('launch.train', '--total_rounds=3')
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(
      completed.stderr,
      '^what to train comes before flags: python -m launch.train SYSTEM'
      ' --total_rounds=3 ..., where SYSTEM is one of semifl, .*\n$',
    )


if __name__ == '__main__':
  absltest.main()
