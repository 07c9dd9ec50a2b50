# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of clients, and of caching, in the in-process context."""

from concurrent import futures
import contextlib
import gc
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import in_process


def _at_clients(member_type, **kwargs):
  return tff.FederatedType(member_type, tff.CLIENTS, **kwargs)


@tff.tensorflow.computation(np.int32)
def _increment(x):
  return x + 1


def _build_add(n):
  return lambda x: x + n


@tff.federated_computation(_at_clients(np.int32))
def _increment_and_sum(values):
  values = tff.federated_map(_increment, values)
  return values, tff.federated_sum(values)


@tff.federated_computation(_at_clients(np.int32), _at_clients(np.int32))
def _sum_both(first, second):
  return tff.federated_sum(first), tff.federated_sum(second)


class ClientsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(0, 1, 2, 5)
  def test_number_of_clients_is_that_of_the_argument(self, num_clients):
    context = in_process.InProcessContext(default_num_clients=3)
    found = context.invoke(_increment_and_sum, list(range(num_clients)))
    self.assertEqual(
      found,
      (list(range(1, num_clients + 1)), num_clients * (num_clients + 1) // 2),
    )

  def test_different_numbers_of_clients_are_refused(self):
    with self.assertRaisesRegex(ValueError, r'numbers of clients: \[2, 3\]'):
      in_process.InProcessContext().invoke(
        _sum_both, tff.structure.Struct.unnamed([1, 2], [1, 2, 3])
      )

  @parameterized.parameters(1, 4)
  def test_error_names_the_client(self, max_concurrent_clients):
    @tff.tensorflow.computation(np.int32)
    def fail_at_two(x):
      with tf.control_dependencies(
        [tf.debugging.assert_none_equal(x, 2, message='two is too much')]
      ):
        return tf.identity(x)

    @tff.federated_computation(_at_clients(np.int32))
    def run(values):
      return tff.federated_map(fail_at_two, values)

    context = in_process.InProcessContext(
      max_concurrent_clients=max_concurrent_clients
    )
    self.addCleanup(context.close)
    with self.assertRaisesRegex(
      errors.ComputationError, "(?s)^In 'run': Client 1 .of 3.*two is too much"
    ) as raised:
      context.invoke(run, [1, 2, 3])
    self.assertIsInstance(
      raised.exception.__cause__, tf.errors.InvalidArgumentError
    )
    self.assertEqual(context.invoke(run, [1, 3]), [1, 3])

  def test_threads_change_nothing_but_the_time(self):
    @tff.tensorflow.computation(tff.TensorType(np.int32, [2]))
    def draw(seed):
      return tf.random.stateless_normal([100], seed)

    @tff.federated_computation(_at_clients(tff.TensorType(np.int32, [2])))
    def run(seeds):
      drawn = tff.federated_map(draw, seeds)
      return drawn, tff.federated_mean(drawn)

    seeds = [np.array([1, n], np.int32) for n in range(9)]
    found = []
    for max_concurrent_clients in (1, 4):
      context = in_process.InProcessContext(
        max_concurrent_clients=max_concurrent_clients
      )
      self.addCleanup(context.close)
      found.append(context.invoke(run, seeds))

    # Sums are in the same order.
    self.assertAllEqual(found[0][0], found[1][0])
    self.assertAllEqual(found[0][1], found[1][1])

  def test_clients_are_aggregated_one_by_one(self):
    calls, kept = [], []

    def record(name):
      def call(x):
        calls.append(name)
        return x

      # Graphs reference the function weakly.
      kept.append(call)
      return lambda x: tf.ensure_shape(
        tf.numpy_function(call, [x], tf.int32), []
      )

    train = tff.tensorflow.computation(record('train'), np.int32)
    weigh = tff.tensorflow.computation(record('weigh'), np.int32)
    report = tff.tensorflow.computation(lambda x: x, np.int32)
    zero = tff.tensorflow.computation(lambda: tf.constant(0))
    add = tff.tensorflow.computation(
      lambda total, x: total + record('add')(x), [np.int32, np.int32]
    )
    merge = tff.tensorflow.computation(lambda x, y: x + y, [np.int32, np.int32])

    @tff.federated_computation(_at_clients(np.int32))
    def work(values):
      trained = tff.federated_map(train, values)
      # A server step is between two client steps.
      total = tff.federated_map(report, tff.federated_sum(trained))
      weighed = tff.federated_map(weigh, trained)
      return total, tff.federated_aggregate(weighed, zero(), add, merge, report)

    with contextlib.closing(in_process.InProcessContext()) as context:
      self.assertEqual(context.invoke(work, [1, 2, 4]), (7, 7))
    self.assertEqual(calls, ['train', 'weigh', 'add'] * 3)


class CachingTest(tf.test.TestCase):
  def test_compiles_and_imports_once_for_all_numbers_of_clients(self):
    context = in_process.InProcessContext()
    with (
      mock.patch.object(
        in_process, 'compile_to_block', wraps=in_process.compile_to_block
      ) as compile_mock,
      mock.patch.object(
        tf.compat.v1, 'wrap_function', wraps=tf.compat.v1.wrap_function
      ) as import_mock,
    ):
      context.invoke(_increment_and_sum, [1, 2])
      num_imports = import_mock.call_count
      for num_clients in range(5):
        context.invoke(_increment_and_sum, [1] * num_clients)

      self.assertEqual(compile_mock.call_count, 1)
      self.assertGreater(num_imports, 0)
      self.assertEqual(import_mock.call_count, num_imports)

  def test_forgets_computations_that_no_longer_exist(self):
    context = in_process.InProcessContext()
    for n in range(3):
      increment = tff.tensorflow.computation(_build_add(n), np.int32)
      self.assertEqual(context.invoke(increment, 1), n + 1)
    self.assertNotEmpty(context._compiled)
    del increment
    gc.collect()

    self.assertEmpty(context._compiled)
    self.assertEmpty(context._functions._functions)

  def test_may_be_used_by_several_threads(self):
    context = in_process.InProcessContext(max_concurrent_clients=2)
    self.addCleanup(context.close)

    def run(n):
      return context.invoke(_increment_and_sum, [n] * n)

    with futures.ThreadPoolExecutor(4) as threads:
      found = list(threads.map(run, range(8)))

    self.assertEqual(found, [([n + 1] * n, (n + 1) * n) for n in range(8)])


if __name__ == '__main__':
  tf.test.main()
