# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of training with `--runtime=ray`."""

import ipaddress
import pathlib
import signal
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import psutil
import pytest

from tests.experiment import saved_run
from tests.launch import programs
from tests.runtime import ray_machines
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import runtimes


class SettingsTest(parameterized.TestCase):
  @parameterized.parameters(
    (dict(ray_address='a:1'), 'ray_address=a:1: it is only for runtime=ray'),
    (dict(client_seconds=5), 'client_seconds=5: .* for runtime=ray'),
    (dict(runtime='ray', gpus_per_client=0), 'gpus_per_client=0.0: '),
    (dict(runtime='ray', gpus_per_client=1.5), '1.5: .*must be a whole number'),
  )
  def test_are_checked_before_all_else(self, values, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      commands.create('semifl', values).check()

  def test_without_ray(self):
    with mock.patch('importlib.util.find_spec', return_value=None):
      commands.create('semifl', {}).check()
      with self.assertRaisesRegex(
        settings.SettingError, r'runtime=ray: .*pip install tff-semifl\[ray\]'
      ):
        commands.create('semifl', {'runtime': 'ray'}).check()

  def test_none_changes_what_is_computed(self):
    self.assertContainsSubset(
      {'runtime', *settings.all_names(runtimes.Ray())}, run_settings.UNIMPORTANT
    )


def _arguments(folder, *flags):
  return programs.small_training(
    folder,
    *('--clients_per_round=5', '--total_rounds=30'),
    *('--threads_per_operation=1', *flags),
  )


@pytest.mark.slow
class TrainingTest(absltest.TestCase):
  def _start(self, *arguments):
    program = programs.Program(*arguments)
    self.addCleanup(program.process.kill)
    return program

  def _finish(self, program, status, seconds=300):
    self.assertEqual(program.process.wait(seconds), status, program.output)
    self.assertNotIn('Traceback', program.output)
    return program.output

  def test_machines_leave_and_join_and_a_run_resumes_without_any(self):
    alone, ray = (self.create_tempdir().full_path for _ in range(2))
    machines = ray_machines.Machines()
    self.addCleanup(machines.stop)
    first, *others = machines.add(3)
    training = self._start(
      *_arguments(ray, '--runtime=ray', f'--ray_address={machines.address}')
    )
    reference = self._start(*_arguments(alone))
    checkpoints = pathlib.Path(ray, 'small', 'checkpoints')

    def wait_for_round(number):
      def is_over():
        self.assertIsNone(training.process.poll(), training.output)
        return (checkpoints / f'program_state_{number}.npz').exists()

      ray_machines.wait_until(is_over, 200)

    wait_for_round(1)
    machines.kill(first)
    ray_machines.wait_until(lambda: 'is lost' in training.output)
    # The remaining actors wait for another machine.
    waiting = ray_machines.actors()
    for actor in waiting:
      actor.suspend()
    others.extend(machines.add(1))
    ray_machines.wait_until(lambda: 'has joined' in training.output)
    for actor in waiting:
      actor.resume()
    latest = max(
      int(path.stem.rpartition('_')[2]) for path in checkpoints.glob('*.npz')
    )
    wait_for_round(latest + 2)
    for machine in others:
      machines.kill(machine)
    output = self._finish(training, 1)
    self.assertRegex(
      output,
      r'flag --runtime=ray: no actor is left: .*; the same command goes on from'
      ' the last complete round\n$',
    )
    self.assertNotIn('Traceback', output)
    output = self._finish(self._start(*_arguments(ray)), 0)
    self.assertNotIn('round 1/30', output)
    self._finish(reference, 0)
    rows, expected = (
      saved_run.read_rows(pathlib.Path(each, 'small')) for each in (ray, alone)
    )
    self.assertLen(rows, 31)
    self.assertEqual(rows, expected)

  def test_interrupt_ends_all_soon_and_others_cannot_reach_it(self):
    folder = self.create_tempdir().full_path
    training = self._start(
      *_arguments(folder, '--runtime=ray', '--client_epochs=100000')
    )
    pid = training.process.pid

    def is_at_work():
      self.assertIsNone(training.process.poll(), training.output)
      return pathlib.Path(
        folder, 'small/checkpoints/program_state_0.npz'
      ).exists() and any(
        actor.cpu_percent(0.2) > 20 for actor in ray_machines.actors(pid)
      )

    ray_machines.wait_until(is_at_work, 200)
    processes = [
      psutil.Process(pid),
      *psutil.Process(pid).children(recursive=True),
    ]
    listening = [
      connection.laddr
      for process in processes
      for connection in process.net_connections('inet')
      if connection.status == psutil.CONN_LISTEN
    ]
    self.assertNotEmpty(listening)
    for address in listening:
      ip = ipaddress.ip_address(address.ip)
      ip = getattr(ip, 'ipv4_mapped', None) or ip
      self.assertTrue(ip.is_loopback, address)
      self.assertTrue(
        ray_machines.is_refused_without_token(str(ip), address.port), address
      )
    training.process.send_signal(signal.SIGINT)
    output = self._finish(training, 130, 30)
    self.assertIn('interrupted', output)
    _, alive = psutil.wait_procs(processes, timeout=10)
    self.assertEmpty(alive)


if __name__ == '__main__':
  absltest.main()
