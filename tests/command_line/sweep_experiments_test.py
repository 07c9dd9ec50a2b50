# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the experiments and flags of a sweep."""

import pathlib
import sys

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver

from launch import sweep
from tff_semifl.command_line import program
from tff_semifl.command_line import sweep_experiments
from tff_semifl.sweeps import entries


class ExperimentsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _create(self, text, seeds, arguments=()):
    path = self.folder / 'my.flags'
    path.write_text(text)
    (entry,) = entries.read_flagfiles([f'semifl:{path}'])
    return sweep_experiments.create_experiments(
      entry, seeds, arguments, self.folder / 'results'
    )

  def test_one_for_each_seed(self):
    before = flags.FLAGS.flag_values_dict()
    first, second = self._create(
      # The sweep overrides this output folder.
      '--total_rounds=3\n--output_dir=elsewhere\n',
      [5, 0],
      ['--num_clients=10'],
    )
    self.assertEqual(flags.FLAGS.flag_values_dict(), before)
    self.assertEqual(
      first.command,
      (
        sys.executable,
        '-m',
        'launch.train',
        'semifl',
        f'--flagfile={self.folder}/my.flags',
        '--num_clients=10',
        '--seed=5',
        f'--output_dir={self.folder}/results',
        '--experiment_name=semifl_my_seed5',
      ),
    )
    self.assertEqual(first.folder, self.folder / 'results' / 'semifl_my_seed5')
    self.assertEqual(
      first.log_path, self.folder / 'results' / 'semifl_my_seed5.log'
    )
    self.assertEqual(second.name, 'semifl_my_seed0')
    self.assertEqual(second.total_rounds, 3)
    # A new folder is left to its program.
    self.assertFalse((self.folder / 'results').exists())

  def test_flag_is_left_out_however_it_is_written(self):
    for flag in (
      ['--num_validation=1'],
      ['-num_validation=1'],
      ['--num_validation', '1'],
      ['-validation_fold', '1/2'],
    ):
      self.assertEqual(
        sweep_experiments.without_validation(['--b', '-2', *flag, '--c=3']),
        ['--b', '-2', '--c=3'],
      )

  def test_presets(self):
    (entry,) = entries.find_presets(['semifl/cifar10_4000_iid'])
    (one,) = sweep_experiments.create_experiments(
      entry, [3], ['--total_rounds=7'], self.folder
    )
    self.assertEqual(
      one.command[2:],
      (
        'launch.train',
        'semifl',
        '--preset=semifl/cifar10_4000_iid',
        '--total_rounds=7',
        '--seed=3',
        f'--output_dir={self.folder}',
        '--experiment_name=semifl_cifar10_4000_iid_seed3',
      ),
    )
    self.assertEqual(one.total_rounds, 7)

  def test_values_may_stand_alone(self):
    (one,) = self._create(
      '--total_rounds=3\n',
      [0],
      ['--num_clients', '10', '--partition=classes', '--classes_per_client=1'],
    )
    self.assertIn('--classes_per_client=1', one.command)

  def test_early_stopping_is_refused(self):
    with self.assertRaisesRegex(program.FlagError, '^flag --stop_after=3: '):
      self._create('--keep_best=test/auc\n', [0], ['--stop_after=3'])

  def test_flags_for_all_are_those_that_are_not_of_the_sweep(self):
    with flagsaver.flagsaver():
      self.assertEqual(
        sweep.parse(
          [
            'sweep',
            '--total_rounds=4',
            '--seeds=3',
            '--noflip',
            # The value is a word of its own.
            '--clients_per_round',
            '20',
            '--release_managers=csv,tensorboard',
            '--output_dir=here',
            '--verbosity=-1',
          ]
        ),
        [
          '--total_rounds=4',
          '--noflip',
          '--clients_per_round',
          '20',
          '--release_managers=csv,tensorboard',
        ],
      )
      self.assertEqual(flags.FLAGS.output_dir, 'here')


if __name__ == '__main__':
  absltest.main()
