# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a sweep's experiments: what is run, when it is complete."""

import pathlib
import sys

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver

from launch.sweeps import experiments
from launch.sweeps import flagfiles


class ExperimentsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _create(self, text, seeds, arguments=()):
    path = self.folder / 'my.flags'
    path.write_text(text)
    (flagfile,) = flagfiles.read_flagfiles([str(path)], 'train_semifl')
    return experiments.create_experiments(
      flagfile, seeds, arguments, self.folder / 'results'
    )

  def test_one_for_each_seed(self):
    before = flags.FLAGS.flag_values_dict()
    first, second = self._create(
      # Where its results would be if it were not for the sweep.
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
        'launch.train_semifl',
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

  def test_flags_for_all_count_for_more_than_the_flagfile(self):
    (one,) = self._create('--total_rounds=3\n', [0], ['--total_rounds=4'])
    self.assertEqual(one.total_rounds, 4)

  def test_flags_for_all_are_those_given_to_the_sweep(self):
    with flagsaver.flagsaver():
      flags.FLAGS(
        [
          'sweep',
          '--total_rounds=4',
          '--noflip',
          '--workers=a:1,b:2',
          '--seed=3',
          '--output_dir=here',
          '--verbosity=-1',
        ]
      )
      self.assertCountEqual(
        experiments.flags_for_all(),
        ['--total_rounds=4', '--noflip', '--workers=a:1,b:2'],
      )

  def test_complete_with_last_round_and_export(self):
    (one,) = self._create('--total_rounds=1\n', [0])
    self.assertFalse(one.is_complete())
    (one.folder / 'export').mkdir(parents=True)
    (one.folder / 'export' / 'saved_model.pb').touch()
    metrics = one.folder / 'metrics.csv'
    lines = [
      'round,test/accuracy,test/best_accuracy,seconds\n',
      '0,0.5,0.5,60\n',
      '1,0.25,0.5,30\n',
    ]
    for number in range(3):
      metrics.write_text(''.join(lines[:number]))
      if number:
        self.assertFalse(one.is_complete())
    metrics.write_text(''.join(lines))
    self.assertTrue(one.is_complete())
    self.assertEqual(one.read_results(), (1, 0.25, 0.5, 1.5))
    (one.folder / 'export' / 'saved_model.pb').unlink()
    self.assertFalse(one.is_complete())


if __name__ == '__main__':
  absltest.main()
