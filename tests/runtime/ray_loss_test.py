# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of actors and machines that are lost, hang or take too long."""

import concurrent.futures
import pathlib
import time

from absl import logging
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.core import linear_problem
from tests.runtime import ray_machines
from tff_semifl import runtime
from tff_semifl.runtime.ray import actor_pool

_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_SILENCE_SECONDS = 6


class Gate:
  """Lets computations wait for the test, and the test for computations.

  Computations run in other processes, and therefore use files.
  """

  def __init__(self, folder):
    self._folder = pathlib.Path(folder)
    self._state = self._folder / 'state'
    self.shut()

  def shut(self):
    self._state.write_text('shut')
    for file in self._folder.glob('started_*'):
      file.unlink()

  def open(self):
    self._state.write_text('open')

  def wait_for(self, number):
    """Waits until this number of processes are at work; returns their ids."""
    ray_machines.wait_until(
      lambda: len(list(self._folder.glob('started_*'))) >= number
    )
    return [
      int(file.name.removeprefix('started_'))
      for file in self._folder.glob('started_*')
    ]

  @tf.function
  def _pass(self):
    pid = tf.strings.split(tf.io.read_file('/proc/self/stat'))[0]
    tf.io.write_file(tf.strings.join([str(self._folder), '/started_', pid]), '')
    # The path must seem to depend on the loop; otherwise TensorFlow reads only
    # once.
    path, num_tries = tf.constant(str(self._state)), 0
    while tf.not_equal(tf.io.read_file(path), 'open'):
      num_tries += 1
      nothing = tf.strings.substr(tf.strings.as_string(num_tries), 0, 0)
      path = tf.strings.join([str(self._state), nothing])
    return num_tries

  def guard(self, tensor):
    """The tensor, once the gate is open."""
    # Without an assertion, TensorFlow would drop a loop without effect.
    passed = tf.debugging.assert_non_negative(self._pass())
    with tf.control_dependencies([passed]):
      return tf.identity(tensor)


class LossTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(ray_machines.local_cluster(num_cpus=2))

  def setUp(self):
    super().setUp()
    self.gate = Gate(self.create_tempdir().full_path)
    self.addCleanup(self.gate.open)

  def _use(self, max_concurrent_clients=2, **options):
    return runtime.simulation_context(
      max_concurrent_clients=max_concurrent_clients,
      ray=runtime.RayOptions(threads_per_operation=1, **options),
    )

  def _run(self, function, *args):
    """Runs a function in a thread with this thread's context."""
    context = tff.framework.get_context_stack().current

    def run():
      tff.framework.set_default_context(context)
      return function(*args)

    return concurrent.futures.ThreadPoolExecutor(1).submit(run)

  def _process(self, pid):
    [process] = [p for p in ray_machines.actors() if p.pid == pid]
    return process

  @pytest.mark.slow
  def test_work_of_the_killed_and_of_the_silent_is_done_again(self):
    process = linear_problem.build(
      'semifl', weak_augmentation=lambda images, seed: self.gate.guard(images)
    )
    cohorts = ([2, 0, 1], [1, 0])
    self.gate.open()
    with self._use(silence_seconds=_SILENCE_SECONDS):
      with self.assertNoLogs(level='WARNING'):
        expected = linear_problem.train(process, cohorts)
      self.gate.shut()
      with self.assertLogs(level='WARNING') as logs:
        running = self._run(linear_problem.train, process, cohorts)
        killed, silent = map(self._process, self.gate.wait_for(2))
        # An actor at work is not silent, however long the work takes.
        time.sleep(_SILENCE_SECONDS + 1)
        logging.warning('now')
        self.assertLen(logs.output, 1)
        killed.kill()
        silent.suspend()
        start = time.monotonic()
        ray_machines.wait_until(
          lambda: '\n'.join(logs.output).count('is lost') == 2, 60
        )
        self.assertBetween(time.monotonic() - start, 1, 3 * _SILENCE_SECONDS)
        self.gate.open()
        found = running.result(120)
      for lost, reason in (
        (killed, 'worker process has died'),
        (silent, f'no answer for {_SILENCE_SECONDS} seconds'),
      ):
        self.assertRegex(
          '\n'.join(logs.output),
          f'actor {lost.pid} at 127.0.0.1 is lost: .*{reason}.*repeated',
        )
        # All actors end, also the stopped actor.
        ray_machines.wait_until(lambda lost=lost: not lost.is_running())
      self.assertRegex(
        '\n'.join(logs.output), 'actor .* at 127.0.0.1 has joined'
      )
      # Equal to the last bit, whichever actor does the work.
      for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)

  @pytest.mark.slow
  def test_client_that_takes_too_long_and_the_end_of_a_call(self):
    work = tff.federated_computation(
      lambda numbers: tff.federated_map(
        tff.tensorflow.computation(lambda x: self.gate.guard(x), np.int32),
        numbers,
      ),
      _AT_CLIENTS,
    )
    # One actor, because each replacement has to import TensorFlow.
    with self._use(1, client_seconds=4) as context:
      with self.assertLogs(level='WARNING') as logs:
        running = self._run(work, [1, 2])
        self.gate.wait_for(1)
        ray_machines.wait_until(lambda: logs.output)
        self.gate.open()
        self.assertEqual(running.result(120), [1, 2])
      self.assertRegex(logs.output[0], 'a client took more than 4 seconds')

      def kill(actor):
        return ray_machines.ask_the_dead(actor)

      # A task that seems to kill each actor.
      with (
        self.assertLogs(level='WARNING'),
        self.assertRaisesRegex(
          runtime.WorkerError, 'one task has lost 3 actors: actor .* at'
        ),
      ):
        list(context.runner.pool.run([actor_pool.Task(kill)]))
      with self.assertRaisesRegex(
        runtime.SiteError, 'no site is there: they are not in the cluster'
      ):
        list(context.runner.pool.run([actor_pool.Task(kill, 'east')]))
      self.gate.shut()
      running = self._run(work, [1])
      self.gate.wait_for(1)
    with self.assertRaisesRegex(runtime.WorkerError, 'closed'):
      running.result(30)


if __name__ == '__main__':
  tf.test.main()
