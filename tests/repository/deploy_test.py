# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the Dockerfile and of scripts for clusters, without a cluster."""

import fnmatch
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib

from absl.testing import absltest
import pytest
import yaml

from tests import small_digits
from tests.repository import source_tree
from tff_semifl.cli import commands

_ROOT = source_tree.PROJECT_ROOT
_FOLDER = _ROOT / 'deploy'
# Ray's list of two machines.
_SRUN = """#!/bin/bash
"$@" &
# Two clusters cannot start on one machine at the same time.
sleep 5
"$@" &
trap 'kill $(jobs -p)' TERM
wait
"""


class DockerfileTest(absltest.TestCase):
  def test_has_all_that_the_package_is_made_of(self):
    project = tomllib.loads((_ROOT / 'pyproject.toml').read_text())
    packages = project['tool']['setuptools']
    folders = {
      packages['package-dir'].get(name, name.replace('.', '/')).split('/')[0]
      for name in packages['packages']
    }
    wanted = {
      *folders,
      *project['project']['license-files'],
      project['project']['readme'],
      'pyproject.toml',
      # The packages of `make venv`, with and without GPU=1.
      *('Makefile', 'requirements.txt', 'requirements-gpu.txt'),
    }
    text = re.sub(r'#.*\n|\\\n', '', (_FOLDER / 'Dockerfile').read_text())
    copies = re.findall(r'(?m)^COPY (?!--from)(.*) \S+$', text)
    self.assertEqual(set(' '.join(copies).split()), wanted)
    ignored = (_FOLDER / 'Dockerfile.dockerignore').read_text()
    kept = re.findall('(?m)^!(.*)$', ignored)
    for name in wanted:
      self.assertTrue((_ROOT / name).exists(), name)
      self.assertTrue(any(fnmatch.fnmatch(name, each) for each in kept), name)


class RayJobTest(absltest.TestCase):
  def test_command_and_version_are_ours(self):
    job = yaml.safe_load((_FOLDER / 'ray_job.yaml').read_text())['spec']
    program, train, system, preset, *flags = shlex.split(job['entrypoint'])
    self.assertEqual((program, train), ('tff-semifl', 'train'))
    self.assertStartsWith(preset, '--preset=')
    commands.parse(system, ['--task=cifar10', *flags]).check()
    lock = (_ROOT / 'requirements.txt').read_text()
    self.assertIn(f'ray=={job["rayClusterSpec"]["rayVersion"]} ', lock)


@pytest.mark.slow
class SlurmRayTest(absltest.TestCase):
  def test_trains_on_two_machines(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    programs = folder / 'bin'
    programs.mkdir()
    (programs / 'srun').write_text(_SRUN)
    (programs / 'srun').chmod(0o755)
    (programs / 'python').symlink_to(sys.executable)
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
          'PATH': f'{programs}:{os.environ["PATH"]}',
          'PYTHONPATH': ':'.join([str(_ROOT), *sys.path]),
          'SLURM_JOB_ID': str(os.getpid()),
          'SLURM_CPUS_PER_TASK': '1',
        },
        cwd=folder,
        # To a file, because processes of Ray hold the output open.
        stdout=log,
        stderr=log,
        timeout=300,
      )
      log.seek(0)
      self.assertEqual(completed.returncode, 0, log.read())
    self.assertTrue((folder / 'results/small/export').exists())
    self.assertCountEqual(os.listdir(folder), ['bin', 'results'])
