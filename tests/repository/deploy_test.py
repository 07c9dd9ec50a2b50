# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what starts runs on clusters, without SLURM and Kubernetes."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from absl.testing import absltest
import yaml

from tests import small_digits
from tests.repository import source_tree
from tff_semifl.launch import commands

_FOLDER = source_tree.PROJECT_ROOT / 'deploy'
_SCRIPT = _FOLDER / 'slurm_array.sh'
# Two machines, as far as Ray can tell.
_SRUN = """#!/bin/bash
"$@" &
"$@" &
trap 'kill $(jobs -p)' TERM
wait
"""


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


class SlurmRayTest(absltest.TestCase):
  def test_trains_on_two_machines(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    programs = folder / 'bin'
    programs.mkdir()
    (programs / 'srun').write_text(_SRUN)
    (programs / 'srun').chmod(0o755)
    (programs / 'python').symlink_to(sys.executable)
    path = os.pathsep.join([str(programs), os.environ['PATH']])
    python_path = os.pathsep.join([str(source_tree.PROJECT_ROOT), *sys.path])
    with tempfile.TemporaryFile('r+') as log:
      completed = subprocess.run(
        [
          *('bash', _FOLDER / 'slurm_ray.sh', 'semifl', *small_digits.FLAGS),
          *('--num_clients=10', '--clients_per_round=2', '--client_epochs=1'),
          *('--server_epochs=1', '--total_rounds=1', '--output_dir=results'),
          *('--threads_per_operation=1', '--experiment_name=small'),
        ],
        env={
          **os.environ,
          'PATH': path,
          'PYTHONPATH': python_path,
          'SLURM_JOB_ID': str(os.getpid()),
          'SLURM_CPUS_PER_TASK': '1',
        },
        cwd=folder,
        # In a file, as processes of Ray hold it open.
        stdout=log,
        stderr=log,
        timeout=300,
      )
      log.seek(0)
      self.assertEqual(completed.returncode, 0, log.read())
    self.assertTrue((folder / 'results/small/export').exists())
    # The token is gone, with all that was started.
    self.assertCountEqual(os.listdir(folder), ['bin', 'results'])


class RayJobTest(absltest.TestCase):
  def test_its_command_has_flags_that_the_program_knows(self):
    job = yaml.safe_load((_FOLDER / 'ray_job.yaml').read_text())
    program, train, system, preset, *flags = shlex.split(
      job['spec']['entrypoint']
    )
    self.assertEqual((program, train), ('tff-semifl', 'train'))
    self.assertStartsWith(preset, '--preset=')
    commands.parse(system, ['--task=cifar10', *flags]).check()

  def test_ray_is_that_of_the_lock(self):
    job = yaml.safe_load((_FOLDER / 'ray_job.yaml').read_text())
    version = job['spec']['rayClusterSpec']['rayVersion']
    lock = (source_tree.PROJECT_ROOT / 'requirements.txt').read_text()
    self.assertIn(f'ray=={version} ', lock)


if __name__ == '__main__':
  absltest.main()
