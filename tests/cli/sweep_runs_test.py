# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the runs of a sweep, and of errors before the first run."""

import contextlib
import functools
import io
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from launch import sweep
from tests import forked_programs
from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import sweep_runs

_ROOT = pathlib.Path(__file__).parents[2]

# A program that runs for a minute, and takes a moment to end.
_LONG = """
import os, signal, sys, time
def end(*_):
  print('asked', flush=True)
  time.sleep({seconds})
  print('in order', flush=True)
  sys.exit(143)
signal.signal(signal.SIGTERM, end)
print('ready', os.getpid(), flush=True)
time.sleep(60)
"""
_PROGRAM = """
import pathlib, sys
from tests.settings import example_parts
from tff_semifl.cli import sweep_runs, program

def main(_):
  runs = [
    sweep_runs.Run(
      command=(sys.executable, '-c', {code!r}),
      folder=pathlib.Path({folder!r}, name),
      total_rounds=1,
    )
    for name in 'abc'
  ]
  for _ in sweep_runs.execute(runs, 2):
    pass

program.run(
  main, example_parts.Oven(), interrupted=program.RESUMES
)
"""
_FLAGS = '--task=digits\n--num_clients=10\n--total_rounds=3\n'


class RunsTest(parameterized.TestCase):
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

  def test_complete_with_last_round_and_export(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    one = sweep_runs.Run(
      command=(),
      folder=folder / 'semifl_my_seed0',
      total_rounds=1,
    )
    self.assertFalse(one.is_complete())
    (one.folder / 'export').mkdir(parents=True)
    (one.folder / 'export' / 'saved_model.pb').touch()
    metrics = one.folder / 'metrics.csv'
    lines = [
      'round,test/accuracy,test/best_accuracy,test/loss,seconds\n',
      '0,0.5,0.5,1,60\n',
      '1,0.25,0.5,2,30\n',
    ]
    for number in range(3):
      metrics.write_text(''.join(lines[:number]))
      if number:
        self.assertFalse(one.is_complete())
    metrics.write_text(''.join(lines))
    self.assertTrue(one.is_complete())
    self.assertEqual(one.read(), (1, 0.25, 0.5, 2, 1.5))
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
    """The commands that the sweep prints."""
    paths = [f'semifl:{self.folder / n}' for n in flagfiles.split(',') if n]
    chosen, passed_on = command_line.parse(
      functools.partial(settings.change, sweep.Sweep()),
      [
        f'--flagfiles={",".join(paths)}',
        f'--output_dir={self.output_dir}',
        *arguments,
      ],
      'sweep',
      takes=lambda _: True,
    )
    with contextlib.redirect_stdout(io.StringIO()) as output:
      sweep.main(chosen, passed_on)
    return [shlex.split(line) for line in output.getvalue().splitlines()]

  def test_commands_are_printed_and_nothing_is_written(self):
    self.assertEqual(
      self._sweep(
        '--seeds=3,4',
        '--total_rounds=2',
        # The value is an argument of its own.
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

  def _assert_refused(self, message, *arguments, **options):
    with self.assertRaisesRegex(settings.SettingError, message):
      self._sweep(*arguments, **options)
    self.assertEmpty(list(self.output_dir.glob('*')))

  @parameterized.parameters(
    (['--seeds=1,1'], '^seeds=1,1: each seed is trained with once'),
    (['--seeds='], '^seeds=: seeds are'),
    (['--seeds=0,one'], '^seeds=0,one: .* whole numbers from 0 to'),
    (['--seeds=2147483648'], '^seeds=.*2147483647'),
    (['-seed=1'], '^seed: .*--seeds'),
    (['total_rounds=3'], "unexpected argument 'total_rounds=3'"),
    (['--dry_run'], '^dry_run: '),
    (['--stop_after=3', '--keep_best=test/auc'], 'flag --stop_after: '),
    (
      ['--classes_per_client=2'],
      '^flagfiles=.*good.flags: flag --classes_per_client: .*=classes',
    ),
    (['--ray_address=localhost:1'], 'good.flags: flag --ray_address: .*=ray'),
    (['--values=1'], '^values=1: give --vary'),
    (['--vary=learning_rate', '--values=1,1'], 'each of --values'),
    (
      ['--vary=learning_rate', '--values=1,2', '-learning_rate=3'],
      '^vary=learning_rate: leave --learning_rate out',
    ),
    (['--vary=seed', '--values=1,2'], '^vary=seed: .*--seeds'),
    (
      ['--vary=learning_rate', '--values=0.1,big'],
      'good.flags: .*learning_rate.*big',
    ),
    (['--vary=rate', '--values=1,2'], 'good.flags: flag --rate: '),
    (['--num_validation=0'], 'good.flags: flag --num_validation=0: '),
    (['--output_dir=/proc/no'], '^output_dir=/proc/no: '),
  )
  def test_bad_flags(self, arguments, message):
    self._assert_refused(message, *arguments)

  @parameterized.parameters(
    ('--totalrounds=3', '--totalrounds'),
    ('--seed=1', '--seed is not for a flagfile'),
    ('--num_validation=20', '--num_validation is not for a flagfile'),
    ('--vary=seed', '--vary'),
  )
  def test_bad_line_in_the_last_flagfile(self, line, message):
    self._write('bad.flags', f'{_FLAGS}{line}\n')
    self._assert_refused(
      f'^flagfiles=.*bad.flags: .*{message}',
      flagfiles='good.flags,bad.flags',
    )

  def test_bad_entries(self):
    self._assert_refused('^flagfiles: name at least one', flagfiles='')
    self._assert_refused('none.flags: No such file', flagfiles='none.flags')
    self._assert_refused('both be', flagfiles='good.flags,good.flags')
    for name, message in (
      ('one.flags', 'one.flags names no system; write semifl:one.flags'),
      ('train:a', 'system=train: must be one of .*semifl,'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        sweep_runs.read_flagfiles([name])
    self._assert_refused(
      '^presets=semifl/svhn_250_iid: flag --classes_per_client: it is'
      ' only for --partition=classes',
      '--presets=semifl/svhn_250_iid',
      '--classes_per_client=2',
      flagfiles='',
    )

  def test_folder_of_another_experiment(self):
    folder = self.output_dir / 'semifl_good_seed1'
    folder.mkdir(parents=True)
    content = {'data': None, 'parts': {}, 'versions': {}}
    content['flags'] = {'task': 'cifar10'}
    (folder / 'hparams.json').write_text(json.dumps(content))
    with self.assertRaisesRegex(
      settings.SettingError, 'good.flags: .*semifl_good_seed1 holds another exp'
    ):
      self._sweep('--seeds=0,1')
    self.assertLen(list(self.output_dir.iterdir()), 1)


def _exists(pid):
  try:
    os.kill(pid, 0)
  except ProcessLookupError:
    return False
  return True


class ProcessesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _log(self, name):
    path = self.folder / f'{name}.log'
    return path.read_text() if path.exists() else ''

  def _pid(self, name):
    """The process of a long run; None before the start."""
    found = re.search(r'^ready (\d+)$', self._log(name), re.M)
    return found and int(found[1])

  def test_exit_codes(self):
    codes = {
      'good': ('', 0),
      'bad': ('print("why"); raise SystemExit(3)', 3),
      'killed': ('import os; os.kill(os.getpid(), 9)', -9),
    }
    runs = [
      sweep_runs.Run(
        command=(sys.executable, '-c', code),
        folder=self.folder / name,
        total_rounds=1,
      )
      for name, (code, _) in codes.items()
    ]
    found = [*sweep_runs.execute(runs, 2)]
    self.assertEqual([run for run, code in found if code is None], runs)
    ended = {run.name: code for run, code in found if code is not None}
    self.assertEqual(ended, {name: code for name, (_, code) in codes.items()})
    _, bad, killed = runs
    self.assertRegex(
      sweep_runs.describe_failure(bad, 3),
      r'^failed with exit code 3; the end .*/bad.log:\n(.*\n)*  why$',
    )
    self.assertStartsWith(
      sweep_runs.describe_failure(killed, -9), 'failed with signal 9 (Killed)'
    )

  def _start(self, seconds):
    """Starts a program with two of three runs at a time; waits for two runs."""
    process = subprocess.Popen(
      [
        sys.executable,
        '-c',
        _PROGRAM.format(
          code=_LONG.format(seconds=seconds), folder=str(self.folder)
        ),
      ],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      # Tests may run in a background job, which ignores the signal.
      preexec_fn=lambda: signal.signal(
        signal.SIGINT, signal.default_int_handler
      ),
    )
    self.addCleanup(process.kill)
    forked_programs.wait_until(lambda: all(map(self._pid, 'ab')))
    pids = [*map(self._pid, 'ab')]
    self.assertTrue(all(map(_exists, pids)))
    return process, pids

  @pytest.mark.slow
  def test_sigterm_is_passed_on(self):
    process, pids = self._start(seconds=1)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=30)
    self.assertEqual(process.returncode, 143, errors)
    self.assertEmpty(output)
    self.assertIn('ending a, b; interrupt again', errors)
    self.assertIn('the same command goes on', errors)
    self.assertFalse(any(map(_exists, pids)))
    for name in 'ab':
      self.assertEndsWith(self._log(name), 'asked\nin order\n')
    self.assertEmpty(self._log('c'))

  @pytest.mark.slow
  def test_second_interrupt_kills(self):
    process, pids = self._start(seconds=60)
    process.send_signal(signal.SIGINT)
    forked_programs.wait_until(
      lambda: all('\nasked\n' in self._log(name) for name in 'ab')
    )
    self.assertIsNone(process.poll())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    self.assertEqual(process.returncode, -signal.SIGINT, errors)
    forked_programs.wait_until(lambda: not any(map(_exists, pids)))
    for name in 'ab':
      self.assertEndsWith(self._log(name), 'asked\n')


if __name__ == '__main__':
  absltest.main()
