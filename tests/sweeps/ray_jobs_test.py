# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of programs on the machines of a Ray cluster, which come and go."""

import json
import pathlib
import sys

from absl.testing import absltest
import pytest

from tests import forked_programs
from tests import small_digits
from tests.runtime import ray_machines
from tff_semifl import runtime
from tff_semifl.sweeps import processes
from tff_semifl.sweeps import ray_jobs

# Prints its machine; the first time it runs until it is killed.
_PROGRAM = """
import os, pathlib, signal, sys, time
import psutil
def end(*_):
  print('in order', flush=True)
  sys.exit(7)
signal.signal(signal.SIGTERM, end)
machine = next(
  argument.partition('=')[2]
  for parent in psutil.Process().parents()
  if 'raylet' in parent.name()
  for argument in parent.cmdline()
  if argument.startswith('--node_ip_address=')
)
print('at', machine, 'in', os.getcwd(), flush=True)
mark = pathlib.Path(sys.argv[1])
if not mark.exists():
  mark.touch()
  time.sleep(120)
"""


class _Watcher:
  """Calls a function with the running jobs, and records finished ones."""

  def __init__(self, poll=lambda jobs: None):
    self.poll = poll
    self.ended = {}
    self.interrupted = []

  def start(self, job):
    del job

  def end(self, job, exit_code):
    self.ended[job.name] = exit_code

  def interrupt(self, jobs):
    self.interrupted = [job.name for job in jobs]


@pytest.mark.slow
class RayClusterTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.machines = ray_machines.Machines()
    cls.added = cls.machines.add(2)
    cls.enterClassContext(runtime.ray_connection(cls.machines.address))

  @classmethod
  def tearDownClass(cls):
    cls.machines.stop()
    super().tearDownClass()

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _job(self, name, *, ends=True, folder='.'):
    mark = self.folder / f'{name}.mark'
    if ends:
      mark.touch()
    return processes.Job(
      name=name,
      command=('/another/machine/python', '-c', _PROGRAM, str(mark)),
      log_path=self.folder / folder / name,
    )

  def _place(self, cpus=1.0, gpus=0.0, num_parallel=None):
    return ray_jobs.RayCluster(
      cpus_per_job=cpus, gpus_per_job=gpus, num_parallel=num_parallel
    )

  def _run(self, jobs, watcher, place=None):
    return processes.run(
      jobs, place=place or self._place(), stop_on_failure=True, watcher=watcher
    )

  def _machines_of(self, name):
    """Returns where a job ran, in order; checks the rest of its log."""
    found = []
    for line in (self.folder / name).read_text().splitlines():
      if line.startswith('at '):
        _, machine, _, folder = line.split()
        self.assertEqual(folder, str(pathlib.Path.cwd()))
        found.append(machine)
    return found

  def test_runs_on_all_machines(self):
    seen = []
    names = 'abc'
    watcher = _Watcher(lambda jobs: seen.append(len(jobs)))
    failed = self._run([self._job(name) for name in names], watcher)
    self.assertEmpty(failed)
    self.assertEqual(watcher.ended, dict.fromkeys(names, 0))
    # Each machine has room for one process.
    self.assertEqual(max(seen), 2)
    self.assertLen(
      {machine for name in names for machine in self._machines_of(name)}, 2
    )
    self.assertIn(f'$ {sys.executable} -c', (self.folder / 'a').read_text())

  def test_room(self):
    self.assertEqual(self._place().max_parallel(), 2)
    self.assertEqual(self._place(cpus=None).max_parallel(), 2)
    self.assertEqual(self._place(cpus=0.5).max_parallel(), 4)
    self.assertEqual(self._place(cpus=0.1, num_parallel=3).max_parallel(), 3)
    with self.assertRaisesRegex(
      ray_jobs.ClusterError, 'none of its 3 machines has the 2 CPUs and 0'
    ):
      self._place(cpus=2)
    with self.assertRaisesRegex(ray_jobs.ClusterError, 'and 0.5 GPUs'):
      self._place(gpus=0.5)

  def test_lost_machine_and_one_that_joins(self):
    """The job is started again, on the machine that is left."""

    def poll(jobs):
      ran = (self.folder / 'a').exists() and self._machines_of('a')
      if ran and jobs and len(self.added) == 2:
        lost = next(
          each for each in self.added if each.node_ip_address == ran[0]
        )
        self.added.remove(lost)
        self.machines.kill(lost)

    watcher = _Watcher(poll)
    with self.assertLogs('absl', 'WARNING') as logged:
      self._run([self._job('a', ends=False)], watcher)
    self.assertEqual(watcher.ended, {'a': 0})
    self.assertRegex(logged.output[0], 'a is resumed on another machine')
    first, second = self._machines_of('a')
    self.assertNotEqual(first, second)
    self.assertEqual(second, self.added[0].node_ip_address)
    place = self._place()
    ray_machines.wait_until(lambda: place.max_parallel() == 1)
    self.added += self.machines.add(1)
    self.assertEqual(place.max_parallel(), 2)

  def test_interrupt_ends_what_runs_in_order(self):
    def poll(jobs):
      if len(jobs) == 2 and all(
        (self.folder / job.name).exists() and self._machines_of(job.name)
        for job in jobs
      ):
        raise KeyboardInterrupt

    watcher = _Watcher(poll)
    with self.assertRaises(KeyboardInterrupt):
      self._run([self._job(name, ends=False) for name in 'abc'], watcher)
    self.assertCountEqual(watcher.interrupted, ['a', 'b'])
    for name in 'ab':
      self.assertEndsWith((self.folder / name).read_text(), 'in order\n')
    self.assertFalse((self.folder / 'c').exists())

  def test_one_that_waits_for_room_ends_at_once(self):
    place = self._place()
    running = [place.start(self._job(name, ends=False)) for name in 'abc']
    ray_machines.wait_until(
      lambda: sum(1 for name in 'abc' if (self.folder / name).exists()) == 2
    )
    ray_machines.wait_until(
      lambda: all(
        self._machines_of(name)
        for name in 'abc'
        if (self.folder / name).exists()
      )
    )
    self.assertEqual({process.poll() for process in running}, {None})
    for process in running:
      process.terminate()
    ray_machines.wait_until(
      lambda: all(process.poll() is not None for process in running)
    )
    self.assertCountEqual([each.poll() for each in running], [7, 7, -15])

  def test_machine_without_the_folder(self):
    with self.assertRaisesRegex(
      ray_jobs.ClusterError, 'a on .*: .* No such file.*nowhere'
    ):
      self._run([self._job('a', folder='nowhere')], _Watcher())


@pytest.mark.slow
class SweepTest(absltest.TestCase):
  def _sweep(self, *arguments):
    return forked_programs.run(
      'launch.sweep',
      f'--output_dir={self.folder}',
      f'--flagfiles=labels_alone:{self.flagfile}',
      *arguments,
    )

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path) / 'results'
    self.flagfile = self.create_tempfile(
      'my.flags',
      '\n'.join([*small_digits.FLAGS, '--total_epochs=1', '--tensorboard=0']),
    ).full_path

  def test_trains_on_a_cluster(self):
    swept = self._sweep('--cluster=local', '--cpus_per_run=1')
    self.assertEqual(swept.returncode, 0, swept.stderr)
    self.assertRegex(swept.stdout, r'\| labels_alone_my \| 1 \| \d')
    name = 'labels_alone_my_seed0'
    hparams = json.loads((self.folder / name / 'hparams.json').read_text())
    self.assertEqual(hparams['flags']['runtime'], 'in_process')
    with self.subTest('complete_runs_need_no_cluster'):
      again = self._sweep('--cluster=127.0.0.1:9')
      self.assertEqual(again.returncode, 0, again.stderr)

  def test_refused(self):
    for arguments, message in (
      (['--cpus_per_run=1'], '--cpus_per_run is for --cluster'),
      (
        ['--cluster=127.0.0.1:9'],
        r'flag --cluster=127\.0\.0\.1:9: no cluster is at .*:9: .* refused',
      ),
      (
        ['--cluster=local', '--cpus_per_run=1000'],
        '^flag --cluster=local: none of its 1 machines has the 1000 CPUs',
      ),
    ):
      with self.subTest(message):
        refused = self._sweep(*arguments)
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr.splitlines()[-1], message)
        self.assertNotIn('|', refused.stdout)


if __name__ == '__main__':
  absltest.main()
