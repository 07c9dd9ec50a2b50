# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what a sweep runs, and of mistakes that it refuses before."""

import contextlib
import io
import json
import pathlib
import shlex
import sys

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from launch import sweep
from tff_semifl.cli import program
from tff_semifl.cli import sweep_runs
from tff_semifl.experiment import presets
from tff_semifl.results import sweep_table

_FLAGS = '--task=digits\n--num_clients=10\n--total_rounds=3\n'


class RunsTest(parameterized.TestCase):
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

  def test_each_flagfile_has_its_system_in_front(self):
    found = sweep_runs.read_flagfiles(
      ['batch_label_semifl:a_0.3.flags', 'semifl:b', 'semifl:semifl_c.flags']
    )
    self.assertEqual(
      [(one.system_name, one.name, one.source) for one in found],
      [
        ('batch_label_semifl', 'batch_label_semifl_a_0.3', 'a_0.3.flags'),
        ('semifl', 'semifl_b', 'b'),
        ('semifl', 'semifl_c', 'semifl_c.flags'),
      ],
    )

  @parameterized.parameters(
    (['--num_validation=1'],),
    (['-num_validation=1'],),
    (['--num_validation', '1'],),
    (['-validation_fold', '1/2'],),
  )
  def test_flag_is_left_out_however_it_is_written(self, flag):
    self.assertEqual(
      sweep_runs.without_validation(['--b', '-2', *flag, '--c=3']),
      ['--b', '-2', '--c=3'],
    )

  def test_complete_with_last_round_and_export(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    one = sweep_runs.Run(
      name='semifl_my_seed0',
      command=(),
      log_path=folder / 'semifl_my_seed0.log',
      entry=sweep_table.Entry('semifl_my', 'semifl', 'flagfile', 'my.flags'),
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


class CommandLineTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.output_dir = self.folder / "it's here"
    self._write('good.flags', _FLAGS)

  def _write(self, name, text):
    (self.folder / name).write_text(text)

  def _sweep(self, *arguments, flagfiles='good.flags'):
    """Returns the commands that the sweep prints."""
    paths = [f'semifl:{self.folder / n}' for n in flagfiles.split(',') if n]
    # Another test may have imported launch.train, whose flag it is.
    of_train = [each for each in arguments if each == '--dry_run']
    output = io.StringIO()
    with flagsaver.flagsaver(), contextlib.redirect_stdout(output):
      passed_on = sweep.parse(
        [
          'sweep',
          f'--flagfiles={",".join(paths)}',
          f'--output_dir={self.output_dir}',
          *(each for each in arguments if each not in of_train),
        ]
      )
      sweep.main([*passed_on, *of_train])
    return [shlex.split(line) for line in output.getvalue().splitlines()]

  def test_commands_are_printed_and_nothing_is_written(self):
    self.assertEqual(
      self._sweep(
        '--seeds=3,4',
        '--total_rounds=2',
        # The value is a word of its own.
        *('--clients_per_round', '2'),
        '--print_commands',
      ),
      [
        [
          *(sys.executable, '-m', 'launch.train', 'semifl'),
          f'--flagfile={self.folder / "good.flags"}',
          '--total_rounds=2',
          *('--clients_per_round', '2'),
          f'--seed={seed}',
          f'--output_dir={self.output_dir}',
          f'--experiment_name=semifl_good_seed{seed}',
        ]
        for seed in (3, 4)
      ],
    )
    self.assertFalse(self.output_dir.exists())

  def test_names_have_the_varied_value_and_validation(self):
    self.assertEqual(
      [
        command[5:]
        for command in self._sweep(
          '--vary=learning_rate',
          '--values=0.1,0.3',
          '--num_validation=20',
          '--print_commands',
        )
      ],
      [
        [
          '--num_validation=20',
          f'--learning_rate={value}',
          '--seed=0',
          f'--output_dir={self.output_dir}',
          '--experiment_name='
          f'semifl_good_learning_rate{value}_validation_seed0',
        ]
        for value in ('0.1', '0.3')
      ],
    )

  def _assert_refused(self, message, *arguments, **options):
    with self.assertRaisesRegex(program.FlagError, message):
      self._sweep(*arguments, **options)
    # No run was begun.
    self.assertEmpty(list(self.output_dir.glob('*')))

  @parameterized.parameters(
    (['--seeds=1,1'], '--seeds=1,1: each seed is trained with once'),
    (['--seeds='], '--seeds=: name at least one'),
    (['--seeds=0,one'], '--seeds=0,one: .* whole numbers from 0 to'),
    (['--seeds=-1'], '--seeds=-1: .* whole numbers'),
    (['--seeds=2147483648'], '--seeds=.*2147483647'),
    (['-seed=1'], '--seed: .*--seeds'),
    (['total_rounds=3'], "unexpected argument 'total_rounds=3'"),
    (['--dry_run'], '--dry_run: '),
    (['--stop_after=3', '--keep_best=test/auc'], 'flag --stop_after: '),
    (
      ['--classes_per_client=2'],
      '--flagfiles=.*good.flags: flag --classes_per_client: .*=classes',
    ),
    (['--ray_address=localhost:1'], 'good.flags: flag --ray_address: .*=ray'),
    (['--values=1'], '--values=1: give --vary'),
    (['--vary=learning_rate', '--values=1,1'], 'each of --values'),
    (
      ['--vary=learning_rate', '--values=1,2', '-learning_rate=3'],
      '--vary=learning_rate: leave --learning_rate out',
    ),
    (['--vary=seed', '--values=1,2'], '--vary=seed: .*--seeds'),
    (
      ['--vary=learning_rate', '--values=0.1,big'],
      'good.flags: .*learning_rate.*big',
    ),
    (['--vary=rate', '--values=1,2'], "good.flags: Unknown .*flag 'rate'"),
    (['--num_validation=0'], 'good.flags: flag --num_validation=0: '),
    (
      ['--table_files=/proc/no/table.md'],
      '--table_files=.*cannot write /proc/no/table.md',
    ),
    (['--output_dir=/proc/no'], '^flag --output_dir=/proc/no: '),
  )
  def test_bad_flags(self, arguments, message):
    self._assert_refused(message, *arguments)

  @parameterized.parameters(
    ('--totalrounds=3', "'totalrounds'"),
    ('--seed=1', '--seed is not for a flagfile'),
    ('--num_validation=20', '--num_validation is not for a flagfile'),
    ('--parallel=2', "'parallel'"),
  )
  def test_bad_line_in_the_last_flagfile(self, line, message):
    self._write('bad.flags', f'{_FLAGS}{line}\n')
    self._assert_refused(
      f'^flag --flagfiles=.*bad.flags: .*{message}',
      flagfiles='good.flags,bad.flags',
    )

  def test_bad_entries(self):
    self._assert_refused('--flagfiles=: name at least one', flagfiles='')
    self._assert_refused('cannot read .*none.flags', flagfiles='none.flags')
    self._assert_refused('both be', flagfiles='good.flags,good.flags')
    for name, message in (
      ('one.flags', 'one.flags names no system; write semifl:one.flags'),
      ('train:a', 'system=train: must be one of .*semifl,'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        sweep_runs.read_flagfiles([name])
    self._assert_refused(
      '^flag --presets=semifl/svhn_250_iid: flag --classes_per_client: it is'
      ' only for --partition=classes; leave it out',
      '--presets=semifl/svhn_250_iid',
      '--classes_per_client=2',
      flagfiles='',
    )

  def test_table_of_no_known_kind(self):
    with self.assertRaisesRegex(
      flags.IllegalFlagValueError, 'must each end in .md or .csv'
    ):
      self._sweep('--table_files=a.txt')

  def test_folder_of_another_experiment(self):
    folder = self.output_dir / 'semifl_good_seed1'
    folder.mkdir(parents=True)
    content = {'data': None, 'parts': {}, 'versions': {}}
    content['flags'] = {'task': 'cifar10'}
    (folder / 'hparams.json').write_text(json.dumps(content))
    with self.assertRaisesRegex(
      program.FlagError, 'good.flags: .*semifl_good_seed1 holds another exp'
    ):
      self._sweep('--seeds=0,1')
    self.assertLen(list(self.output_dir.iterdir()), 1)


if __name__ == '__main__':
  absltest.main()
