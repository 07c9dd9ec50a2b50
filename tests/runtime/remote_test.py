# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of computations on remote workers, in processes of their own."""

import collections
import socket

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.algorithms import linear_problem
from tests.runtime import worker_processes
from tff_semifl import runtime

_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_AT_SERVER = tff.FederatedType(np.int32, tff.SERVER)


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
    process = linear_problem.build('semifl')
    # None, fewer than workers, as many, more.
    cohorts = ([], [1], [0, 1], [2, 0, 1])
    with runtime.simulation_context('in_process'):
      expected = linear_problem.train(process, cohorts)
    stock = runtime.Worker()
    self.addCleanup(stock.close)
    for workers in (
      self._workers[:1],
      self._workers,
      [self._workers[0], stock.address],
    ):
      with runtime.simulation_context('remote', workers=workers):
        found = linear_problem.train(process, cohorts)
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


if __name__ == '__main__':
  tf.test.main()
