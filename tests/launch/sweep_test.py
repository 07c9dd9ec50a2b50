# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of real sweeps with real programs."""

import csv
import json
import os
import pathlib

from absl.testing import absltest
import numpy as np
import pytest

from tests import forked_programs
from tests import small_digits
from tests.experiment import saved_run

_FLAGS = (
  *small_digits.FLAGS,
  '--num_clients=10',
  '--clients_per_round=0',
  '--server_epochs=1',
  '--total_rounds=4',
)


def _processes_of(folder):
  """The living processes whose command lines contain a folder."""
  found = []
  for path in pathlib.Path('/proc').glob('[0-9]*'):
    try:
      if str(folder).encode() in (path / 'cmdline').read_bytes():
        found.append(path.name)
    except (ProcessLookupError, FileNotFoundError):
      continue
  return found


class SweepTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.output_dir = folder / 'results'
    self.flagfile = folder / 'small.flags'
    self.flagfile.write_text('\n'.join(_FLAGS))

  def _arguments(self, *flags):
    return [
      'launch.sweep',
      f'--flagfiles=semifl:{self.flagfile}',
      '--seeds=0,1',
      f'--output_dir={self.output_dir}',
      *flags,
    ]

  def _finish(self, *flags):
    completed = forked_programs.run(*self._arguments(*flags))
    return completed.returncode, completed.stdout, completed.stderr

  def _logs(self):
    return {
      path.name: path.read_text() for path in self.output_dir.glob('*.log')
    }

  def _check_table(self):
    with (self.output_dir / 'table.csv').open() as file:
      [row] = csv.DictReader(file)
    self.assertEqual(row['name'], 'semifl_small')
    last_rows = []
    for seed in (0, 1):
      folder = self.output_dir / f'semifl_small_seed{seed}'
      last_rows.append(saved_run.read_rows(folder)[-1])
    self.assertEqual([last['round'] for last in last_rows], ['4', '4'])
    for column in ('accuracy', 'best_accuracy'):
      values = [float(last[f'test/{column}']) for last in last_rows]
      self.assertAlmostEqual(float(row[f'{column}_mean']), np.mean(values))
      self.assertAlmostEqual(
        float(row[f'{column}_deviation']), np.std(values, ddof=1)
      )
    self.assertEqual(row['complete'], '2')

  @pytest.mark.slow
  def test_killed_sweep_goes_on_and_then_skips_what_is_complete(self):
    nothing = self.enter_context(open(os.devnull, 'wb'))
    process = forked_programs.start(
      *self._arguments(), stdout=nothing, stderr=nothing
    )
    # Killed in the middle of the first run.
    checkpoint = 'semifl_small_seed*/checkpoints/program_state_0.npz'
    forked_programs.wait_until(lambda: list(self.output_dir.glob(checkpoint)))
    process.kill()
    process.wait()
    forked_programs.wait_until(
      lambda: not _processes_of(self.output_dir), seconds=5
    )

    status, output, errors = self._finish()
    self.assertEqual(status, 0, errors)
    self._check_table()
    self.assertIn('| semifl_small | 2 |', output)
    self.assertStartsWith(output, (self.output_dir / 'table.md').read_text())
    logs = self._logs()
    self.assertLen(logs, 2)
    self.assertIn('resumed after round', ''.join(logs.values()))
    self.assertEqual(errors.count('started, log: '), 2)
    self.assertEmpty(_processes_of(self.output_dir))

    # All runs are complete, so that no run is started.
    self.assertEqual(self._finish('--verbosity=-1'), (0, output, ''))
    complete = 'complete before: semifl_small_seed0, semifl_small_seed1\n'
    self.assertEqual(self._finish(), (0, output, complete))
    self.assertEqual(self._logs(), logs)

    # A run that ends well, but lacks a file that the table needs.
    folder = self.output_dir / 'semifl_small_seed0'
    (folder / 'metrics.csv').unlink()
    (folder / 'export' / 'notes.txt').touch()
    status, output, errors = self._finish()
    self.assertEqual(status, 1)
    self.assertIn('| semifl_small | 1 of 2 |', output)
    self.assertIn(f'semifl_small_seed0: ended well, but {folder} lacks', errors)
    self.assertRegex(errors.splitlines()[-1], '^failed: semifl_small_seed0; ')
    self.assertTrue((folder / 'export' / 'notes.txt').exists())

  @pytest.mark.slow
  def test_validates_and_chooses(self):
    status, output, errors = self._finish(
      '--seeds=0',
      '--vary=learning_rate',
      '--values=0.03,1e30',
      '--num_validation=20',
      '--total_rounds=1',
    )
    self.assertEqual(status, 1)
    self.assertIn('semifl_small_learning_rate1e30_validation_seed0', errors)
    name = 'semifl_small_learning_rate0.03_validation_seed0'
    *_, last = saved_run.read_rows(self.output_dir / name)
    self.assertFalse([column for column in last if column.startswith('test/')])
    loss = float(last['validation/loss'])
    self.assertIn(f'| semifl_small_learning_rate0.03 | 1 | {loss:.3f}', output)
    self.assertIn('| semifl_small_learning_rate1e30 | 0 of 1 | | | ', output)
    self.assertIn('is that of learning_rate=0.03; with all labels:', output)
    self.assertRegex(
      output,
      f'train semifl --flagfile={self.flagfile} --total_rounds=1'
      ' --learning_rate=0.03\n',
    )
    log = self._logs()[f'{name}.log']
    self.assertIn('round 1/1, validation accuracy ', log)
    self.assertIn('\nvalidation accuracy after round 1: ', log)
    self.assertNotIn('test accuracy', log)
    hparams = json.loads((self.output_dir / name / 'hparams.json').read_text())
    self.assertEqual(hparams['flags']['num_validation'], 20)


if __name__ == '__main__':
  absltest.main()
