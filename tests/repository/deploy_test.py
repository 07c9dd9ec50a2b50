# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the script for SLURM, without SLURM."""

import os
import pathlib
import shlex
import subprocess

from absl.testing import absltest

from tests.repository import source_tree

_SCRIPT = source_tree.PROJECT_ROOT / 'deploy' / 'slurm_array.sh'


class SlurmArrayTest(absltest.TestCase):
  def _run(self, task_id, *commands):
    """Runs the command of a task, counted from 1."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    file = folder / 'all commands.txt'
    file.write_text(''.join(f'{shlex.join(each)}\n' for each in commands))
    return subprocess.run(
      ['bash', _SCRIPT, file],
      env={**os.environ, 'SLURM_ARRAY_TASK_ID': str(task_id)},
      cwd=folder,
      capture_output=True,
      text=True,
      timeout=60,
    )

  def test_each_task_runs_its_line(self):
    commands = [
      ['false'],
      [
        'printf',
        '%s|',
        "--output_dir=it's here",
        '--presets=semifl/*',
        '$HOME',
      ],
    ]
    self.assertEqual(self._run(1, *commands).returncode, 1)
    completed = self._run(2, *commands)
    self.assertEqual(
      (completed.returncode, completed.stdout, completed.stderr),
      (0, "--output_dir=it's here|--presets=semifl/*|$HOME|", ''),
    )

  def test_task_without_a_line(self):
    completed = self._run(3, ['true'], ['true'])
    self.assertEqual(completed.returncode, 1)
    self.assertEndsWith(completed.stderr, 'has no line 3\n')


if __name__ == '__main__':
  absltest.main()
