# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of computations on remote workers, in processes of their own."""

import collections
import concurrent.futures
import pathlib
import signal
import socket
import time

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import linear_reference
from tests.algorithms import linear_problem
from tests.runtime import worker_processes
from tff_semifl import runtime

_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_AT_SERVER = tff.FederatedType(np.int32, tff.SERVER)


def _build_semifl(weak_augmentation=linear_reference.unchanged):
  return linear_problem.build('semifl', weak_augmentation=weak_augmentation)


def _train(process, cohorts):
  """Returns state and metrics after some rounds, as arrays."""
  problem = linear_problem.LinearProblem()
  state = process.initialize()
  for cohort in cohorts:
    output = process.next(
      state, problem.server_data, problem.client_data(cohort)
    )
    state = output.state
  return [np.asarray(leaf) for leaf in tf.nest.flatten(output)]


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


class TwoWorkersTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    workers = [worker_processes.WorkerProcess('--port=0') for _ in range(2)]
    for worker in workers:
      cls.addClassCleanup(worker.stop)
    cls._workers = [worker.address for worker in workers]

  def _use(self, *workers, **options):
    return self.enter_context(
      runtime.simulation_context(
        'remote', workers=workers or self._workers, **options
      )
    )

  def test_semifl_gives_the_same_numbers(self):
    process = _build_semifl()
    # None, fewer than workers, as many, more.
    cohorts = ([], [1], [0, 1], [2, 0, 1])
    with runtime.simulation_context('in_process'):
      expected = _train(process, cohorts)
    stock = runtime.Worker()
    self.addCleanup(stock.close)
    for workers in (
      self._workers[:1],
      self._workers,
      [self._workers[0], stock.address],
    ):
      with runtime.simulation_context('remote', workers=workers):
        found = _train(process, cohorts)
      for ours, theirs in zip(found, expected, strict=True):
        self.assertEqual(ours.dtype, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)

  @parameterized.parameters(0, 1, 2, 3, 5)
  def test_everything_is_put_together_again(self, num_clients):
    @tff.federated_computation(_AT_SERVER, _AT_CLIENTS)
    def work(factor, numbers):
      products = tff.federated_map(
        tff.tensorflow.computation(lambda a, b: a * b),
        (numbers, tff.federated_broadcast(factor)),
      )
      mean = tff.federated_mean(
        tff.federated_map(
          tff.tensorflow.computation(lambda x: tf.cast(x, tf.float32)), products
        )
      )
      return collections.OrderedDict(
        total=tff.federated_sum(products),
        mean=mean,
        products=products,
        # Clients that know of the others.
        total_at_clients=tff.federated_map(
          tff.tensorflow.computation(lambda a, b: a + b),
          (
            numbers,
            tff.federated_broadcast(tff.federated_sum(numbers)),
          ),
        ),
        factor=factor,
        text=tff.federated_value('text', tff.SERVER),
      )

    numbers = list(range(1, num_clients + 1))
    self._use()
    found = work(10, numbers)
    with runtime.simulation_context('in_process'):
      expected = work(10, numbers)
    self.assertIsInstance(found, collections.OrderedDict)
    self.assertEqual(found['products'], [10 * n for n in numbers])
    self.assertEqual(
      found['total_at_clients'], [n + sum(numbers) for n in numbers]
    )
    self.assertEqual(found['text'], b'text')
    self.assertEqual(list(found), list(expected))
    for name in ('total', 'mean', 'factor'):
      np.testing.assert_array_equal(found[name], expected[name])
      self.assertEqual(found[name].dtype, expected[name].dtype)

  def test_number_of_clients_that_no_argument_tells(self):
    @tff.federated_computation
    def count():
      return tff.federated_sum(tff.federated_value(1, tff.CLIENTS))

    self._use(default_num_clients=3)
    self.assertEqual(count(), 3)

  def test_what_cannot_be_split_runs_on_one_worker(self):
    @tff.federated_computation(_AT_CLIENTS)
    def work(numbers):
      total = tff.federated_broadcast(tff.federated_sum(numbers))
      return tff.federated_sum(
        tff.federated_map(
          tff.tensorflow.computation(lambda a, b: a * b), (numbers, total)
        )
      )

    self._use()
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(work([1, 2, 3]), 36)
    self.assertIn('runs on one worker', logs.output[0])
    # Says so once.
    with self.assertNoLogs(level='WARNING'):
      self.assertEqual(work([1, 2, 3]), 36)

  def test_error_names_clients_and_worker(self):
    @tff.tensorflow.computation(np.int32)
    def check(x):
      with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        return tf.identity(x)

    @tff.federated_computation(_AT_CLIENTS)
    def work(numbers):
      return tff.federated_sum(tff.federated_map(check, numbers))

    self._use()
    with self.assertRaisesRegex(
      runtime.ComputationError,
      rf'(?s)clients 2 to 4 \(of 5\).*worker {self._workers[1]}.*'
      r'Client 1 \(of 3.*Condition x > 0 did not hold',
    ):
      work([1, 1, 1, -1, 1])
    self.assertEqual(work([1, 2]), 3)

  def test_wrong_arguments_are_refused_as_in_process(self):
    @tff.federated_computation(_AT_CLIENTS, _AT_CLIENTS)
    def work(a, b):
      return tff.federated_sum(a), tff.federated_sum(b)

    self._use()
    with self.assertRaisesRegex(ValueError, r'Conflicting.*\[1, 2\]'):
      work([1], [1, 2])
    with self.assertRaisesRegex(TypeError, 'list with one value per client'):
      work(1, [1])

  def test_secure_aggregation_is_refused_as_in_process(self):
    @tff.federated_computation(_AT_CLIENTS)
    def work(numbers):
      return tff.federated_secure_sum(numbers, 5)

    self._use()
    # Whole, and split among both.
    for numbers in ([1], [1, 2]):
      with self.assertRaisesRegex(
        NotImplementedError, 'federated_secure_sum.*no secure aggregation'
      ):
        work(numbers)

  def test_addresses_are_checked(self):
    for workers in ([], [self._workers[0]] * 2):
      with self.assertRaisesRegex(ValueError, 'without repetition'):
        with runtime.simulation_context('remote', workers=workers):
          pass
    with self.assertRaisesRegex(ValueError, 'for the kind `remote`'):
      with runtime.simulation_context('native', workers=self._workers):
        pass

  def test_worker_that_is_not_there_is_left_out(self):
    with socket.create_server(('127.0.0.1', 0)) as probe:
      nobody = f'127.0.0.1:{probe.getsockname()[1]}'
    with self.assertLogs(level='WARNING') as logs:
      self._use(nobody, self._workers[0])
    self.assertRegex(logs.output[0], f'worker {nobody}: .*without it')
    add = tff.tensorflow.computation(lambda x: x + 1, np.int32)
    self.assertEqual(add(1), 2)
    with self.assertRaisesRegex(runtime.WorkerError, f'no worker.*{nobody}'):
      self._use(nobody)


class ForgettingTest(tf.test.TestCase):
  def test_worker_that_dropped_what_it_had_is_not_lost(self):
    server = runtime.Server()
    self.addCleanup(server.stop)
    add = tff.tensorflow.computation(lambda x: x + 1, np.int32)
    with runtime.simulation_context('remote', workers=[server.address]):
      with self.assertNoLogs(level='WARNING'):
        self.assertEqual(add(1), 2)
        # As after a long time in which nothing was asked.
        server.service.executors.drop_all()
        self.assertEqual(add(2), 3)

  def test_driver_leaves_nothing(self):
    server = runtime.Server()
    self.addCleanup(server.stop)
    add = tff.tensorflow.computation(lambda x: x + 1, np.int32)
    with runtime.simulation_context('remote', workers=[server.address]):
      add(1)
    worker_processes.wait_until(
      lambda: server.service.executors.num_values == 0, 5
    )


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
    process = _build_semifl(lambda images, seed: self.gate.guard(images))
    cohorts = ([2, 0, 1], [1, 0])
    self.gate.open()
    with runtime.simulation_context('remote', workers=self.addresses):
      with self.assertNoLogs(level='WARNING'):
        expected = _train(process, cohorts)
      with self.assertLogs(level='WARNING') as logs:
        self.gate.shut()
        running = self._run(_train, process, cohorts)
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
      running = self._run(_train, process, cohorts)
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
