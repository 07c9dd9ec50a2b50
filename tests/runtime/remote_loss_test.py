# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of workers that are lost, hang or take too long."""

import concurrent.futures
import pathlib
import signal
import time

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.algorithms import linear_problem
from tests.runtime import worker_processes
from tff_semifl import runtime

_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)


class Gate:
  """Lets computations wait for the test, and the test for computations.

  Files, as computations are elsewhere.
  """

  def __init__(self, folder):
    self._started = pathlib.Path(folder, 'started')
    self._state = pathlib.Path(folder, 'state')
    self.shut()

  def shut(self):
    self._state.write_text('shut')
    self._started.unlink(missing_ok=True)

  def open(self):
    self._state.write_text('open')

  def wait_for_someone(self):
    worker_processes.wait_until(self._started.exists)

  @tf.function
  def _pass(self):
    tf.io.write_file(str(self._started), '')
    # A path that seems to depend on the loop, or TensorFlow reads it just once.
    path, num_tries = tf.constant(str(self._state)), 0
    while tf.not_equal(tf.io.read_file(path), 'open'):
      num_tries += 1
      nothing = tf.strings.substr(tf.strings.as_string(num_tries), 0, 0)
      path = tf.strings.join([str(self._state), nothing])
    return num_tries

  def guard(self, tensor):
    """Returns the tensor, when the gate is open."""
    # An assertion keeps TensorFlow from leaving out a loop without effect.
    passed = tf.debugging.assert_non_negative(self._pass())
    with tf.control_dependencies([passed]):
      return tf.identity(tensor)


class LossTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.gate = Gate(self.create_tempdir().full_path)
    self.addCleanup(self.gate.open)

  def _start_workers(self, number):
    self.workers = [
      worker_processes.WorkerProcess('--port=0') for _ in range(number)
    ]
    for worker in self.workers:
      self.addCleanup(worker.stop)
    self.addresses = [worker.address for worker in self.workers]

  def _run(self, function, *args):
    """Runs a function in a thread with this thread's context."""
    context = tff.framework.get_context_stack().current

    def run():
      tff.framework.set_default_context(context)
      return function(*args)

    return concurrent.futures.ThreadPoolExecutor(1).submit(run)

  def test_others_do_the_work_of_one_that_is_killed(self):
    self._start_workers(2)
    process = linear_problem.build(
      'semifl', weak_augmentation=lambda images, seed: self.gate.guard(images)
    )
    cohorts = ([2, 0, 1], [1, 0])
    self.gate.open()
    with runtime.simulation_context('remote', workers=self.addresses):
      with self.assertNoLogs(level='WARNING'):
        expected = linear_problem.train(process, cohorts)
      with self.assertLogs(level='WARNING') as logs:
        self.gate.shut()
        running = self._run(linear_problem.train, process, cohorts)
        self._kill_when_at_work(self.workers[1])
        found = running.result(60)
      self.assertLen(logs.output, 1)
      self.assertRegex(
        logs.output[0], f'worker {self.addresses[1]}: .*done again by the 1'
      )
      # To the last bit: it is no matter who does a share of the work.
      for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)

      self.gate.shut()
      running = self._run(linear_problem.train, process, cohorts)
      self._kill_when_at_work(self.workers[0])
      with self.assertRaisesRegex(
        runtime.WorkerError,
        f'no worker is left: .*{self.addresses[0]}.*{self.addresses[1]}'
        f'|no worker is left: .*{self.addresses[1]}.*{self.addresses[0]}',
      ):
        running.result(60)

  def _kill_when_at_work(self, worker):
    """Kills a worker in the first round of a training that was started."""
    self.gate.wait_for_someone()
    worker.signal(signal.SIGKILL)
    self.gate.open()

  def test_others_do_the_work_of_one_that_hangs(self):
    self._start_workers(2)

    @tff.federated_computation(_AT_CLIENTS)
    def work(numbers):
      return tff.federated_sum(
        tff.federated_map(
          tff.tensorflow.computation(lambda x: self.gate.guard(x), np.int32),
          numbers,
        )
      )

    with runtime.simulation_context(
      'remote', workers=self.addresses, silence_seconds=4
    ):
      # Longer than one that hangs would be left alone: at work is not silent.
      running = self._run(work, [1, 2])
      self.gate.wait_for_someone()
      with self.assertNoLogs(level='WARNING'):
        time.sleep(5)
        self.gate.open()
        self.assertEqual(running.result(10), 3)
      self.gate.shut()

      with self.assertLogs(level='WARNING') as logs:
        running = self._run(work, [1, 2, 3])
        self.gate.wait_for_someone()
        self.workers[0].signal(signal.SIGSTOP)
        start = time.monotonic()
        worker_processes.wait_until(lambda: logs.output)
        self.assertBetween(time.monotonic() - start, 1, 8)
        self.gate.open()
        self.assertEqual(running.result(30), 6)
      self.assertRegex(
        logs.output[0], f'worker {self.addresses[0]}: no answer for .*again'
      )
      # Who answers again is used again.
      self.workers[0].signal(signal.SIGCONT)
      with self.assertLogs(level='WARNING') as logs:
        self.assertEqual(work([1, 2, 3]), 6)
      self.assertIn(f'worker {self.addresses[0]} is back', logs.output[0])

  def test_limit_of_a_call(self):
    self._start_workers(1)

    @tff.federated_computation(_AT_CLIENTS)
    def work(numbers):
      return tff.federated_map(
        tff.tensorflow.computation(lambda x: self.gate.guard(x), np.int32),
        numbers,
      )

    with runtime.simulation_context(
      'remote', workers=self.addresses, call_seconds=1
    ):
      with self.assertRaisesRegex(
        runtime.WorkerError, 'a call took more than 1 seconds'
      ):
        work([1])

  def test_closing_ends_a_call(self):
    self._start_workers(1)
    work = tff.tensorflow.computation(lambda x: self.gate.guard(x), np.int32)
    with runtime.simulation_context('remote', workers=self.addresses):
      running = self._run(work, 1)
      self.gate.wait_for_someone()
    with self.assertRaisesRegex(runtime.WorkerError, 'closed'):
      running.result(5)


if __name__ == '__main__':
  tf.test.main()
