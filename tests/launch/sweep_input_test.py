# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a sweep reports mistakes before training."""

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
from tff_semifl.command_line import program

_FLAGS = '--task=digits\n--num_clients=10\n--total_rounds=3\n'


class SweepInputTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.output_dir = self.folder / 'results'
    self._write('good.flags', _FLAGS)

  def _write(self, name, text):
    (self.folder / name).write_text(text)

  def _sweep(self, *arguments, flagfiles='good.flags', system='semifl'):
    paths = [
      f'{system}:{self.folder / name}' for name in flagfiles.split(',') if name
    ]
    # Another test may have imported launch.train, whose flag it is.
    of_train = [each for each in arguments if each == '--dry_run']
    with flagsaver.flagsaver():
      passed_on = sweep.parse(
        [
          'sweep',
          f'--flagfiles={",".join(paths)}',
          f'--output_dir={self.output_dir}',
          *(each for each in arguments if each not in of_train),
        ]
      )
      sweep.main([*passed_on, *of_train])

  def test_commands_are_printed_and_nothing_is_written(self):
    self.output_dir = self.folder / "it's here"
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      self._sweep('--seeds=3,4', '--total_rounds=2', '--print_commands')
    flagfile = self.folder / 'good.flags'
    self.assertEqual(
      [shlex.split(line) for line in output.getvalue().splitlines()],
      [
        [
          *(sys.executable, '-m', 'launch.train', 'semifl'),
          f'--flagfile={flagfile}',
          '--total_rounds=2',
          f'--seed={seed}',
          f'--output_dir={self.output_dir}',
          f'--experiment_name=semifl_good_seed{seed}',
        ]
        for seed in (3, 4)
      ],
    )
    self.assertFalse(self.output_dir.exists())

  def test_names_say_what_is_varied_and_that_it_validates(self):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      self._sweep(
        '--vary=learning_rate',
        '--values=0.1,0.3',
        '--num_validation=20',
        '--print_commands',
      )
    self.assertEqual(
      [shlex.split(line)[5:] for line in output.getvalue().splitlines()],
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
    (['--seeds=1,1'], '--seeds=1,1: '),
    (['--seed=1'], '--seed: .*--seeds'),
    (['-seed=1'], '--seed: .*--seeds'),
    (['total_rounds=3'], "^unexpected argument 'total_rounds=3'"),
    (['--experiment_name=a'], '--experiment_name: '),
    (['--dry_run'], '--dry_run: '),
    (
      ['--classes_per_client=2'],
      '--flagfiles=.*good.flags: flag --classes_per_client: .*=classes',
    ),
    (['--ray_address=localhost:1'], 'good.flags: flag --ray_address: .*=ray'),
    (['--values=1'], '--values=1: give --vary'),
    (['--vary=learning_rate'], '--values=: give --vary'),
    (['--vary=learning_rate', '--values=1,1'], '--values=1,1: each value'),
    (
      ['--vary=learning_rate', '--values=1,2', '-learning_rate=3'],
      '--values=1,2: .* --learning_rate out',
    ),
    (['--vary=seed', '--values=1,2'], '--vary=seed: give --seeds'),
    (['--vary=num_validation', '--values=1,2'], '--vary=num_validation: '),
    (['--vary=flagfile', '--values=1,2'], '--vary=flagfile: '),
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
  )
  def test_bad_flags(self, arguments, message):
    self._assert_refused(message, *arguments)

  @parameterized.parameters(
    ('--totalrounds=3', "'totalrounds'"),
    ('--total_rounds=0', 'total_rounds'),
    ('total_rounds=3', "unexpected argument 'total_rounds=3'"),
    ('--flagfile=/nowhere', '/nowhere'),
    ('--seed=1', '--seed is not for a flagfile'),
    ('--dry_run', '--dry_run is not for a flagfile'),
    ('--num_validation=20', '--num_validation is not for a flagfile'),
    ('--parallel=2', "'parallel'"),
    ('--partition=iid\n--dirichlet_concentration=1', '--dirichlet_conc'),
  )
  def test_bad_line_in_the_last_flagfile(self, line, message):
    self._write('bad.flags', f'{_FLAGS}{line}\n')
    self._assert_refused(
      f'^flag --flagfiles=.*bad.flags: .*{message}',
      '--seeds=0,1',
      flagfiles='good.flags,bad.flags',
    )

  def test_bad_line_in_an_included_flagfile(self):
    self._write('included', '--seed=1\n')
    self._write('bad.flags', f'{_FLAGS}--flagfile={self.folder}/included\n')
    self._assert_refused('--seed is not for', flagfiles='bad.flags')

  def test_bad_flagfiles(self):
    self._assert_refused('--flagfiles=: name at least one', flagfiles='')
    self._assert_refused('cannot read .*none.flags', flagfiles='none.flags')
    self._assert_refused('both be', flagfiles='good.flags,good.flags')

  def test_bad_presets(self):
    self._assert_refused(
      '^flag --presets=semifl/nothing: .*nothing',
      '--presets=semifl/nothing',
      flagfiles='',
    )
    self._assert_refused(
      '^flag --presets=semifl/svhn_250_iid: flag --classes_per_client: it is'
      ' only for --partition=classes; leave it out',
      '--presets=semifl/svhn_250_iid',
      '--classes_per_client=2',
      flagfiles='',
    )

  @parameterized.parameters('--table_files=a.txt', '--table_files=')
  def test_table_of_no_known_kind(self, flag):
    with self.assertRaisesRegex(
      flags.IllegalFlagValueError, 'must each end in .md or .csv'
    ):
      self._sweep(flag)

  def test_folder_that_cannot_be_made(self):
    with self.assertRaisesRegex(
      program.FlagError, '^flag --output_dir=/proc/no: '
    ):
      self._sweep('--output_dir=/proc/no')

  def _make_experiment(self, name, **hparams):
    folder = self.output_dir / name
    folder.mkdir(parents=True)
    content = {'flags': hparams, 'data': None, 'parts': {}, 'versions': {}}
    (folder / 'hparams.json').write_text(json.dumps(content))
    return folder

  def test_folder_of_another_experiment(self):
    self._make_experiment('semifl_good_seed1', task='cifar10')
    with self.assertRaisesRegex(
      program.FlagError, 'good.flags: .*semifl_good_seed1 holds another exp'
    ):
      self._sweep('--seeds=0,1')
    self.assertLen(list(self.output_dir.iterdir()), 1)


if __name__ == '__main__':
  absltest.main()
