# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the entries, runs and flags of a sweep."""

import pathlib
import sys

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from launch import sweep
from tff_semifl.command_line import program
from tff_semifl.command_line import sweep_runs
from tff_semifl.experiments import presets
from tff_semifl.results import sweep_table


class RunsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _create(self, text, seeds, arguments=()):
    path = self.folder / 'my.flags'
    path.write_text(text)
    (entry,) = sweep_runs.read_flagfiles([f'semifl:{path}'])
    return sweep_runs.create_runs(
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
        sweep_runs.without_validation(['--b', '-2', *flag, '--c=3']),
        ['--b', '-2', '--c=3'],
      )

  def test_presets(self):
    (entry,) = sweep_runs.find_presets(['semifl/cifar10_4000_iid'])
    (one,) = sweep_runs.create_runs(
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

  def test_complete_with_last_round_and_export(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    one = sweep_runs.Run(
      name='semifl_my_seed0',
      command=(),
      log_path=folder / 'semifl_my_seed0.log',
      entry=sweep_table.Entry(
        'semifl_my', 'semifl', 'flagfile', 'my.flags', None
      ),
      folder=folder / 'semifl_my_seed0',
      total_rounds=1,
    )
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
    self.assertEqual(one.read(), (1, 0.25, 0.5, 1.5))
    (one.folder / 'export' / 'saved_model.pb').unlink()
    self.assertFalse(one.is_complete())
    (one.folder / 'export' / 'model_float32.tflite').touch()
    self.assertTrue(one.is_complete())


class FlagfilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, name, text='# Nothing.\n--seed=1\n'):
    path = self.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)

  def _read_one(self, first_line):
    path = self._write('one.flags', f'{first_line}\n--task=digits\n')
    (entry,) = sweep_runs.read_flagfiles([f'semifl:{path}'])
    return entry

  def test_each_flagfile_has_its_system_in_front(self):
    first, second = self._write('a_0.3.flags'), self._write('b')
    third = self._write('semifl_c.flags')
    found = sweep_runs.read_flagfiles(
      [
        f'batch_label_semifl:{first}',
        f'semifl:{second}',
        f'semifl:{first}',
        f'semifl:{third}',
      ]
    )
    self.assertEqual(
      [(one.system_name, one.name, one.source) for one in found],
      [
        ('batch_label_semifl', 'batch_label_semifl_a_0.3', first),
        ('semifl', 'semifl_b', second),
        ('semifl', 'semifl_a_0.3', first),
        # Once is enough.
        ('semifl', 'semifl_c', third),
      ],
    )

  def test_presets_are_found_by_patterns(self):
    found = sweep_runs.find_presets(['semifl/svhn_*'])
    self.assertGreater(len(found), 3)
    for one in found:
      self.assertEqual(one.system_name, 'semifl')
      self.assertStartsWith(one.source, 'semifl/svhn_')
      self.assertEqual(one.name, one.source.replace('/', '_'))
      self.assertEqual(one.paper, presets.load(one.source).paper)
    every = sweep_runs.find_presets(['*'])
    self.assertEqual([one.source for one in every], list(presets.names()))
    sweep_runs.check_names(every)
    with self.assertRaisesRegex(ValueError, 'semifl/svnh_'):
      sweep_runs.find_presets(['semifl/svhn_*', 'semifl/svnh_*'])

  def test_what_the_paper_reached(self):
    found = self._read_one('# Paper: 93.1% (0.1): CIFAR-10, IID; Table 1.')
    self.assertEqual(found.paper, ('93.1% (0.1)', 0.931, 0.001))
    found = self._read_one('# Paper: 80.42%: SemiFL, K=2; Table 2.')
    self.assertEqual(found.paper, ('80.42%', 0.8042, None))
    found = self._read_one('# 93.1% test accuracy on two cores.')
    self.assertIsNone(found.paper)

  @parameterized.parameters(
    '# Paper: 93.1% (0.1)',
    '# Paper: about 93.1% (0.1): a word',
  )
  def test_a_paper_that_is_not_understood_is_an_error(self, first_line):
    with self.assertRaisesRegex(ValueError, 'one.flags begins .* written as'):
      self._read_one(first_line)

  def test_mistakes_are_named(self):
    one, other = self._write('one.flags'), self._write('other/one.flags')
    for names, message in (
      ([one], 'one.flags names no system; write semifl:/.*one.flags'),
      (['train:a'], 'system=train: must be one of .*semifl,'),
      ([f'semifl:{one}x'], 'cannot read .*one.flagsx: No such file'),
      (
        [f'semifl:{one}', f'semifl:{other}'],
        'one.*other.* both be semifl_one;',
      ),
    ):
      with (
        self.subTest(message),
        self.assertRaisesRegex(ValueError, message),
      ):
        sweep_runs.check_names(sweep_runs.read_flagfiles(names))
    (self.folder / 'bytes').write_bytes(b'\xff\xfe\xff')
    with self.assertRaisesRegex(ValueError, 'bytes is not a text file'):
      sweep_runs.read_flagfiles([f'semifl:{self.folder}/bytes'])


if __name__ == '__main__':
  absltest.main()
