# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the worker program and of training with it, in real processes."""

from concurrent import futures
import csv
import pathlib
import signal
import socket
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import psutil

from tests import forked_programs
from tests import small_digits
from tests.runtime import worker_processes
from tff_semifl import settings
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import runtimes
from tff_semifl.launch import commands


class WorkerTest(absltest.TestCase):
  def _start(self, *flags):
    worker = worker_processes.WorkerProcess(*flags)
    self.addCleanup(worker.stop)
    return worker

  def test_ends_when_asked_to(self):
    statuses = {signal.SIGTERM: 0, signal.SIGINT: 130}
    workers = {number: self._start('--port=0') for number in statuses}
    for number, worker in workers.items():
      # Not before it is ready.
      self.assertStartsWith(worker.address, '127.0.0.1:')
      worker.signal(number)
    for number, worker in workers.items():
      self.assertEqual(worker.process.wait(20), statuses[number], worker.log)
      self.assertNotIn('Traceback', worker.log)

  def test_flags_that_are_of_no_use(self):
    with socket.create_server(('127.0.0.1', 0)) as taken:
      port = taken.getsockname()[1]
      expected = {
        (): 'flag --port=None: say which',
        (f'--port={port}',): f'flag --port={port}: cannot listen at',
        ('--port=0', '--host=0.0.0.0'): 'flag --host=0.0.0.0: .* certificates',
        ('--port=0', '--tls_key=k'): 'flag --tls_certificate=None: is missing',
      }
      for flags, message in expected.items():
        completed = forked_programs.run('launch.worker', *flags)
        self.assertEqual(completed.returncode, 1)
        self.assertRegex(completed.stderr, message)
        self.assertNotIn('Traceback', completed.stderr)


class SettingsTest(parameterized.TestCase):
  @parameterized.parameters(
    (dict(workers=('a:1',)), 'workers=a:1: it is only for runtime=remote'),
    (dict(tls_key='k'), 'tls_key=k: it is only for runtime=remote'),
    (
      dict(worker_call_seconds=5),
      'worker_call_seconds=5: .* for runtime=remote',
    ),
    (dict(runtime='remote'), 'workers=: .*needs some'),
    (dict(runtime='remote', workers=('a',)), "workers=a: 'a' is not host:port"),
    (dict(runtime='remote', workers=('a:b',)), "'a:b' is not host:port"),
    (dict(runtime='remote', workers=('a:70000',)), 'is not host:port'),
    (dict(runtime='remote', workers=('a:1', 'a:1')), 'one is there twice'),
    (
      dict(runtime='remote', workers=('a:1',), max_concurrent_clients=2),
      'max_concurrent_clients=2: it is only for runtime=in_process or',
    ),
    (
      dict(runtime='remote', workers=('a:1',), tls_key='k'),
      'tls_certificate=None: is missing',
    ),
    (
      dict(
        runtime='remote',
        workers=('a:1',),
        tls_key='k',
        tls_certificate='/nothing',
        tls_certificate_authority='a',
      ),
      'tls_certificate=/nothing: .*No such file',
    ),
  )
  def test_are_checked_before_all_else(self, values, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      commands.create('semifl', values).check()

  def test_that_go_together_are_let_through(self):
    for values in (
      dict(),
      dict(max_concurrent_clients=2),
      dict(runtime='remote', workers=('[::1]:1', 'b:2'), worker_call_seconds=9),
    ):
      commands.create('semifl', values).check()

  def test_worker_of_tff_has_no_xla(self):
    with self.assertRaisesRegex(
      settings.SettingError, "^jit_compile=True: TFF's worker has no XLA"
    ):
      commands.create(
        'semifl', {'jit_compile': True, 'runtime': 'native'}
      ).check()

  def test_none_changes_what_is_computed(self):
    self.assertContainsSubset(
      {
        'workers',
        'runtime',
        *settings.all_names(runtimes.TLSFiles()),
        *settings.all_names(runtimes.Threads()),
      },
      run_settings.UNIMPORTANT,
    )


def _arguments(folder, *flags):
  return [
    *('launch.train', 'semifl', f'--output_dir={folder}', *small_digits.FLAGS),
    *('--num_clients=10', '--clients_per_round=3', '--client_epochs=1'),
    *('--server_epochs=1', '--confidence_threshold=0.2', '--total_rounds=4'),
    *('--experiment_name=small', *flags),
  ]


class TrainingTest(absltest.TestCase):
  def _train(self, status, folder, *flags):
    """Trains until the end, and returns what is said."""
    completed = forked_programs.run(*_arguments(folder, *flags))
    output = completed.stdout + completed.stderr
    self.assertEqual(completed.returncode, status, output)
    self.assertNotIn('Traceback', output)
    return output

  def _rows(self, folder):
    with pathlib.Path(folder, 'small', 'metrics.csv').open() as file:
      return [
        {
          # What was not measured is empty.
          name: float(cell or 'nan')
          for name, cell in row.items()
          if name != 'seconds'
        }
        for row in csv.DictReader(file)
      ]

  def _start_workers(self, number):
    workers = [
      worker_processes.WorkerProcess('--port=0') for _ in range(number)
    ]
    for worker in workers:
      self.addCleanup(worker.stop)
    return workers, '--workers=' + ','.join(each.address for each in workers)

  def test_workers_are_lost_and_a_run_resumes_with_others(self):
    alone, remote = (self.create_tempdir().full_path for _ in range(2))
    self._train(0, alone)
    workers, addresses = self._start_workers(2)
    folder = pathlib.Path(remote, 'small', 'checkpoints')
    with futures.ThreadPoolExecutor() as executor:
      training = executor.submit(
        self._train, 1, remote, '--runtime=remote', addresses
      )
      worker_processes.wait_until((folder / 'program_state_1.npz').exists, 150)
      workers[0].signal(signal.SIGKILL)
      worker_processes.wait_until((folder / 'program_state_2.npz').exists, 150)
      workers[1].signal(signal.SIGKILL)
      output = training.result()
    self.assertIn('done again by the 1 left', output)
    self.assertRegex(
      output,
      r'flag --workers=127.*no worker is left.*the same command goes on from'
      ' the last complete round',
    )

    _, addresses = self._start_workers(1)
    output = self._train(0, remote, '--runtime=remote', addresses)
    self.assertNotIn('round 1/4', output)
    expected, found = self._rows(alone), self._rows(remote)
    self.assertLen(found, 5)
    for ours, theirs in zip(found, expected, strict=True):
      self.assertEqual(list(ours), list(theirs))
      for name, value in ours.items():
        np.testing.assert_allclose(
          value, theirs[name], rtol=0, atol=5e-4, err_msg=name
        )

  def test_interrupt_ends_a_call_soon(self):
    workers, addresses = self._start_workers(2)
    remote = self.create_tempdir().full_path
    log = tempfile.TemporaryFile()
    self.addCleanup(log.close)
    training = forked_programs.start(
      *_arguments(remote, '--runtime=remote', addresses),
      '--client_epochs=100000',
      stdout=log,
      stderr=log,
    )
    folder = pathlib.Path(remote, 'small', 'checkpoints')
    worker_processes.wait_until((folder / 'program_state_0.npz').exists, 150)
    # Until a worker is busy with the clients of round 1, which it is for long.
    cpu = psutil.Process(workers[0].process.pid).cpu_times
    before = cpu().user
    worker_processes.wait_until(lambda: cpu().user > before + 3, 60)
    training.send_signal(signal.SIGINT)
    code = training.wait(timeout=15)
    log.seek(0)
    output = log.read().decode()
    self.assertEqual(code, 130, output)
    self.assertIn('interrupted', output)
    self.assertNotIn('Traceback', output)
    for worker in workers:
      worker.signal(signal.SIGTERM)
      self.assertEqual(worker.process.wait(20), 0, worker.log)


if __name__ == '__main__':
  absltest.main()
