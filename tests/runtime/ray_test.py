# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of computations whose clients run in Ray's processes."""

import collections
import os
import time

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.core import linear_problem
from tests.runtime import agreement
from tests.runtime import ray_machines
from tff_semifl import runtime

_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_AT_SERVER = tff.FederatedType(np.int32, tff.SERVER)
_IMAGES = tff.SequenceType(tff.TensorType(np.uint8, (None, 64, 64, 1)))


@tff.tensorflow.computation(np.int32, np.int32)
def _multiply(a, b):
  return a * b


@tff.tensorflow.computation(np.int32)
def _to_float(x):
  return tf.cast(x, tf.float32)


@tff.tensorflow.computation(np.int32)
def _check_positive(x):
  with tf.control_dependencies([tf.debugging.assert_positive(x)]):
    return tf.identity(x)


@tff.tensorflow.computation(_IMAGES)
def _sum_pixels(images):
  return images.reduce(
    np.int64(0), lambda total, x: total + tf.reduce_sum(tf.cast(x, tf.int64))
  )


class TwoActorsTest(agreement.AgreementTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # One thread for each operation, so that the last digits are comparable.
    cls.enterClassContext(ray_machines.local_cluster(num_cpus=2))
    cls.ray = cls.enterClassContext(
      runtime.simulation_context(
        ray=runtime.RayOptions(threads_per_operation=1)
      )
    )

  def _assert_equal(self, computation, *args):
    """Asserts that results of Ray and of this process are bitwise equal."""
    with self.use(self.in_process):
      expected = computation(*args)
    with self.use(self.ray):
      found = computation(*args)
    self.assert_same(found, expected, rtol=0, atol=0)
    return found

  def test_rounds_have_the_same_numbers(self):
    process = linear_problem.build('semifl')
    # No client, fewer clients than actors, as many, and more.
    cohorts = ([], [1], [0, 1], [2, 0, 1])
    with self.use(self.in_process):
      expected = linear_problem.train(process, cohorts)
    with self.use(self.ray):
      found = linear_problem.train(process, cohorts)
    for ours, theirs in zip(found, expected, strict=True):
      self.assertEqual(ours.dtype, theirs.dtype)
      np.testing.assert_array_equal(ours, theirs)

  @parameterized.parameters(0, 3)
  def test_everything_has_its_place(self, num_clients):
    @tff.federated_computation(_AT_SERVER, _AT_CLIENTS)
    def work(factor, numbers):
      factors = tff.federated_broadcast(factor)
      products = tff.federated_map(_multiply, (numbers, factors))
      total = tff.federated_broadcast(tff.federated_sum(products))
      return collections.OrderedDict(
        products=products,
        mean=tff.federated_mean(tff.federated_map(_to_float, products)),
        sum_of_multiples=tff.federated_sum(
          tff.federated_map(_multiply, (products, total))
        ),
        multiples=tff.federated_map(_multiply, (numbers, total)),
        pairs=tff.federated_zip((numbers, factors)),
        numbers=numbers,
        fives=tff.federated_eval(
          tff.tensorflow.computation(lambda: 5), tff.CLIENTS
        ),
        factors=factors,
        factor=factor,
        text=tff.federated_value('text', tff.SERVER),
      )

    numbers = list(range(1, num_clients + 1))
    found = self._assert_equal(work, 10, numbers)
    self.assertEqual(found['products'], [10 * n for n in numbers])
    self.assertEqual(
      found['multiples'], [10 * n * sum(numbers) for n in numbers]
    )
    self.assertLen(found['fives'], num_clients)

  def test_datasets_come_and_go(self):
    sequence = tff.SequenceType(np.int32)

    @tff.tensorflow.computation(sequence)
    def double(dataset):
      return dataset.map(lambda x: 2 * x)

    @tff.federated_computation(
      tff.FederatedType(sequence, tff.SERVER),
      tff.FederatedType(sequence, tff.CLIENTS),
    )
    def work(at_server, at_clients):
      return (
        tff.federated_map(double, at_server),
        tff.federated_map(double, at_clients),
        tff.federated_broadcast(at_server),
      )

    self._assert_equal(work, [1, 2], [[3], [], [4, 5]])
    self._assert_equal(double, tf.data.Dataset.range(3, output_type=tf.int32))

  def test_clients_work_in_other_processes(self):
    pid = tff.tensorflow.computation(
      lambda: tf.strings.to_number(
        tf.strings.split(tf.io.read_file('/proc/self/stat'))[0], tf.int32
      )
    )

    work = tff.federated_computation(
      lambda numbers: tff.federated_map(
        tff.tensorflow.computation(lambda x: pid(), np.int32), numbers
      ),
      _AT_CLIENTS,
    )
    found = set()
    # The second actor may still be starting.
    end = time.monotonic() + 60
    with self.use(self.ray):
      while len(found) < 2 and time.monotonic() < end:
        found.update(work(list(range(8))))
    self.assertNotIn(os.getpid(), found)
    self.assertLen(found, 2)

  def test_images_are_sent_once_and_weights_once_a_round(self):
    @tff.federated_computation(
      tff.FederatedType(tff.TensorType(np.float32, [1000]), tff.SERVER),
      tff.FederatedType(_IMAGES, tff.SERVER),
      tff.FederatedType(_IMAGES, tff.CLIENTS),
    )
    def work(weights, at_server, at_clients):
      add = tff.tensorflow.computation(
        lambda pixels, w: tf.cast(pixels, tf.float32) + tf.reduce_sum(w)
      )
      pixels = tff.federated_map(_sum_pixels, at_clients)
      return (
        tff.federated_map(_sum_pixels, at_server),
        tff.federated_map(add, (pixels, tff.federated_broadcast(weights))),
      )

    def images(seed):
      generator = np.random.default_rng(seed)
      return tf.data.Dataset.from_tensors(
        generator.integers(0, 256, [5, 64, 64, 1], np.uint8)
      )

    sent = self.ray.runner.sent
    size = 5 * 64 * 64
    for round_num in range(3):
      before = collections.Counter(sent)
      weights = np.full(1000, round_num, np.float32)
      # The third client takes part for the first time in the last round.
      clients = [images(1), images(2)] + [images(3)] * (round_num == 2)
      self._assert_equal(work, weights, images(0), clients)
      new = sent - before
      self.assertEqual(new['data'], [3 * size, 0, size][round_num])
      # Sent once for all clients, with few other numbers.
      self.assertBetween(new['in common'], 4000, 4000 + 2000)
      self.assertLess(new['of each client'], 2000 * len(clients))

  def test_error_names_computation_and_client(self):
    @tff.federated_computation(_AT_CLIENTS)
    def work(numbers):
      return tff.federated_sum(tff.federated_map(_check_positive, numbers))

    with self.use(self.ray):
      with self.assertRaisesRegex(
        runtime.ComputationError,
        r"(?s)In 'work': Client 3 \(of 5, counted from 0\): .*"
        'Condition x > 0 did not hold',
      ):
        work([1, 1, 1, -1, 1])
      self.assertEqual(work([1, 2]), 3)

  def test_what_cannot_be_sent_is_refused(self):
    with self.use(self.ray):
      dataset = tf.data.Dataset.from_generator(
        lambda: iter([np.zeros([1, 64, 64, 1], np.uint8)]),
        output_signature=tf.TensorSpec([None, 64, 64, 1], tf.uint8),
      )
      with self.assertRaisesRegex(TypeError, 'calls a Python function'):
        _sum_pixels(dataset)


if __name__ == '__main__':
  tf.test.main()
