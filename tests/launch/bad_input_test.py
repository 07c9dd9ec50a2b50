# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what bad flags get: one line that names the flag and the remedy."""

import os
import pathlib
import resource
import subprocess
import sys
from unittest import mock

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized
import tensorflow_datasets as tfds

from launch import experiment as experiment_lib
from launch import program
from launch import settings as settings_lib
from launch import systems
from tests import forked_programs
from tff_semifl.data import main_class_partition
from tff_semifl.data import skewed_partition

_ROOT = pathlib.Path(__file__).parents[2]


def _run(*arguments):
  """Runs the real program."""
  return forked_programs.run('launch.train_semifl', *arguments, timeout=100)


def _create():
  settings = settings_lib.resolve(systems.SEMIFL)
  return experiment_lib.create_experiment(systems.SEMIFL, settings)


def _open_folder():
  settings = settings_lib.resolve(systems.SEMIFL)
  return experiment_lib.open_folder(systems.SEMIFL, settings)


class BadInputTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      'labels_that_do_not_divide',
      {'num_labeled': 55},
      '--num_labeled=55: .*each of 10 classes; 50 or 60 can',
    ),
    (
      'more_labels_than_there_are',
      {'num_labeled': 2000},
      '--num_labeled=2000: .*class 0 has .* at most 1[0-9]+ are possible',
    ),
    (
      'more_clients_than_images',
      {'num_clients': 5000},
      '--num_clients=5000: .*1387 unlabelled images .*1 to 1387 clients',
    ),
    (
      'more_clients_per_round_than_clients',
      {'num_clients': 5, 'clients_per_round': 6},
      '--clients_per_round=6: .*among 5 clients',
    ),
    (
      'depth_that_no_network_has',
      {'model_depth': 9},
      '--model_depth=9: .*possible are 7, 11, 15',
    ),
  )
  def test_experiment_that_cannot_be_built(self, flag_values, message):
    with flagsaver.flagsaver(**flag_values):
      with self.assertRaisesRegex(program.FlagError, message):
        _create()

  @parameterized.parameters(
    ('dirichlet', skewed_partition, 'partition_dirichlet'),
    ('classes', skewed_partition, 'partition_classes'),
    ('main_classes', main_class_partition, 'partition_main_classes'),
  )
  def test_partition_that_loses_an_image(self, name, module, function):
    create = getattr(module, function)

    def lose_one(*arguments):
      first, *others = create(*arguments)
      return [first[1:], *others]

    with (
      flagsaver.flagsaver(partition=name, num_clients=10),
      mock.patch.object(module, function, side_effect=lose_one),
      self.assertRaisesRegex(
        program.FlagError,
        f'--partition={name}: 1 of 1387 unlabelled images have no client',
      ),
    ):
      _create()

  def test_no_data_and_no_network(self):
    empty = self.create_tempdir().full_path
    with (
      flagsaver.flagsaver(task='cifar10', data_dir=empty),
      mock.patch.object(
        tfds.core.DatasetBuilder,
        'download_and_prepare',
        side_effect=ConnectionError('no route to host'),
      ),
      self.assertRaisesRegex(
        program.FlagError,
        f'^flag --data_dir={empty}: .*no route to host.*name a folder that',
      ),
    ):
      _create()

  def test_folder_that_cannot_be_written_or_is_taken(self):
    with flagsaver.flagsaver(output_dir='/proc/nothing'):
      with self.assertRaisesRegex(
        program.FlagError, '--output_dir=/proc/nothing: .*another --output_dir'
      ):
        _open_folder()
    with flagsaver.flagsaver(
      output_dir=self.create_tempdir().full_path, experiment_name='mine'
    ):
      _open_folder()
      with flagsaver.flagsaver(total_rounds=7):
        with self.assertRaisesRegex(
          program.FlagError, 'with --total_rounds=800 and not 7'
        ):
          _open_folder()

  @parameterized.named_parameters(
    ('task', 'task', 'mnist', '<cifar10|cifar100|digits|image_folder|'),
    ('threshold_zero', 'confidence_threshold', '0', r'must be in \(0, 1\]'),
    ('threshold_above', 'confidence_threshold', '1.1', r'must be in \(0, 1\]'),
    ('learning_rate', 'learning_rate', '0', 'must be above 0'),
    ('momentum', 'momentum', '1', r'must be in \[0, 1\)'),
    ('seed', 'seed', '-1', 'seed'),
    ('rounds', 'total_rounds', '0', 'total_rounds'),
  )
  def test_value_out_of_range(self, name, value, message):
    with flagsaver.flagsaver():
      with self.assertRaisesRegex(
        (flags.IllegalFlagValueError, ValueError), message
      ):
        flags.FLAGS(['program', f'--{name}={value}'])

  def test_training_that_diverges_names_the_rate(self):
    completed = _run(
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
      ' round 0, which was run twice; smaller steps may help',
    )

  def test_disk_that_is_full_in_mid_run_is_named(self):
    folder = self.create_tempdir().full_path
    completed = subprocess.run(
      [
        *(sys.executable, '-m', 'launch.train_semifl'),
        '--num_clients=10',
        '--clients_per_round=0',
        '--server_epochs=1',
        '--total_rounds=1',
        '--experiment_name=mine',
        f'--output_dir={folder}',
      ],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      timeout=100,
      # Enough for flags and metrics, not for a model.
      preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (20_000, 20_000)
      ),
    )
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(
      completed.stderr.splitlines()[-1],
      f'^flag --output_dir={folder}: cannot write {folder}/mine/checkpoints/'
      'program_state_0.npz: File too large; .* the same command goes on',
    )
    self.assertNotIn('Traceback', completed.stderr)

  def test_fifo_in_place_of_flags_is_named_and_not_waited_for(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    path = folder / 'mine' / 'hparams.json'
    path.parent.mkdir()
    os.mkfifo(path)
    completed = _run('--experiment_name=mine', f'--output_dir={folder}')
    self.assertEqual(completed.returncode, 1)
    self.assertEqual(
      completed.stderr.splitlines(),
      [
        f'flag --output_dir={folder}: {path} is a FIFO, not a file; put back'
        ' the file that was there, and the same command goes on, or choose'
        ' another --output_dir'
      ],
    )

  def test_unknown_task_ends_the_program_with_one(self):
    completed = _run('--task=mnist')
    self.assertEqual(completed.returncode, 1)
    self.assertIn('--task=mnist: value should be one of', completed.stderr)
    self.assertEmpty(completed.stdout)

  def test_stray_argument_is_refused(self):
    completed = _run('digits')
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(completed.stderr, "^unexpected argument 'digits'")


if __name__ == '__main__':
  absltest.main()
