# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the real program with the real programs that it runs."""

import csv
import pathlib
import subprocess
import sys
import time

from absl.testing import absltest
import numpy as np

from tests import forked_programs

_ROOT = pathlib.Path(__file__).parents[2]
_FLAGS = """\
--task=digits
--num_clients=10
--clients_per_round=0
--server_epochs={server_epochs}
--model_width=1
--total_rounds=4
"""


def _processes_of(folder):
  """Returns the living processes that were told of a folder."""
  found = []
  for path in pathlib.Path('/proc').glob('[0-9]*'):
    try:
      if str(folder).encode() in (path / 'cmdline').read_bytes():
        found.append(path.name)
    except (ProcessLookupError, FileNotFoundError):
      continue
  return found


def _wait_until(condition, seconds=100):
  deadline = time.monotonic() + seconds
  while not condition():
    if time.monotonic() > deadline:
      raise AssertionError(f'Did not come true in {seconds} seconds.')
    time.sleep(0.01)


class SweepTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.output_dir = folder / 'results'
    self.flagfiles = []
    for name, first_line, server_epochs in (
      ('one', '# Paper: 88.2% (0.3): SemiFL; Table 1.', 0.2),
      ('five', '# Five epochs.', 5),
    ):
      path = folder / f'{name}.flags'
      path.write_text(
        f'{first_line}\n{_FLAGS.format(server_epochs=server_epochs)}'
      )
      self.flagfiles.append(f'semifl:{path}')

  def _arguments(self, *flags):
    return [
      'launch.sweep',
      f'--flagfiles={",".join(self.flagfiles)}',
      '--seeds=0,1',
      '--parallel=2',
      f'--output_dir={self.output_dir}',
      *flags,
    ]

  def _finish(self, *flags):
    completed = forked_programs.run(*self._arguments(*flags))
    return completed.returncode, completed.stdout, completed.stderr

  def _last_rows(self, name):
    rows = []
    for seed in (0, 1):
      path = self.output_dir / f'semifl_{name}_seed{seed}' / 'metrics.csv'
      with path.open() as file:
        rows.append(list(csv.DictReader(file))[-1])
    return rows

  def _logs(self):
    return {
      path.name: path.read_text() for path in self.output_dir.glob('*.log')
    }

  def _check_table(self):
    with (self.output_dir / 'table.csv').open() as file:
      table = list(csv.DictReader(file))
    self.assertEqual(
      [row['name'] for row in table], ['semifl_one', 'semifl_five']
    )
    for name, row in zip(('one', 'five'), table, strict=True):
      last_rows = self._last_rows(name)
      self.assertEqual([last['round'] for last in last_rows], ['4', '4'])
      for column in ('accuracy', 'best_accuracy'):
        values = [float(last[f'test/{column}']) for last in last_rows]
        self.assertAlmostEqual(float(row[f'{column}_mean']), np.mean(values))
        self.assertAlmostEqual(
          float(row[f'{column}_deviation']), np.std(values, ddof=1)
        )
    self.assertEqual([row['complete'] for row in table], ['2', '2'])
    self.assertEqual(
      [row['paper_accuracy_mean'] for row in table], ['0.882', '']
    )

  def test_killed_sweep_goes_on_and_then_skips_what_is_complete(self):
    process = subprocess.Popen(
      [sys.executable, '-m', *self._arguments()],
      cwd=_ROOT,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
    )
    self.addCleanup(process.kill)
    # Killed in the middle of the first two runs.
    checkpoint = 'semifl_one_seed*/checkpoints/program_state_0.npz'
    _wait_until(lambda: list(self.output_dir.glob(checkpoint)))
    process.kill()
    process.wait()
    _wait_until(lambda: not _processes_of(self.output_dir), seconds=5)

    status, output, errors = self._finish()
    self.assertEqual(status, 0, errors)
    self._check_table()
    self.assertIn('| semifl_one | 2 |', output)
    self.assertStartsWith(output, (self.output_dir / 'table.md').read_text())
    logs = self._logs()
    self.assertLen(logs, 4)
    self.assertIn('resumed after round', ''.join(logs.values()))
    self.assertEqual(errors.count('started, log: '), 4)
    self.assertEmpty(_processes_of(self.output_dir))

    # All are complete, and none is started.
    self.assertEqual(self._finish('--verbosity=-1'), (0, output, ''))
    self.assertEqual(self._logs(), logs)

  def test_failure_stops_it_and_its_log_is_shown(self):
    # What only the data can tell.
    status, output, errors = self._finish('--num_labeled=55', '--parallel=1')
    self.assertEqual(status, 1)
    self.assertRegex(
      errors,
      r'semifl_one_seed0: failed with exit code 1; the end of its log'
      r' \S+semifl_one_seed0.log:\n(  .*\n)*  flag --num_labeled=55: ',
    )
    self.assertRegex(
      errors.splitlines()[-1],
      '^failed: semifl_one_seed0; the same command goes on with the 4 of 4',
    )
    self.assertIn('| semifl_five | 0 of 2 | | | | |', output)
    self.assertEqual(list(self._logs()), ['semifl_one_seed0.log'])


if __name__ == '__main__':
  absltest.main()
