# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that several clients at once compute what each computes alone."""

from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import at_once
from tff_semifl import runtime
from tff_semifl.runtime import stacked_functions

_IMAGES = tff.SequenceType(tff.TensorType(np.float32, [None, 6, 6, 2]))
_KERNEL = tff.TensorType(np.float32, [3, 3, 2, 4])
# Groups of three, two and one.
_SIZES = (3, 2, 3, 3, 2, 3)


def _one_element(dataset):
  return dataset.reduce(
    tf.zeros([0, 6, 6, 2]),
    lambda before, images: tf.concat([before, images], 0),
  )


def _build(computation, *, same):
  """Returns a computation that each client runs, with what the server sends."""
  server_type, client_type = computation.type_signature.parameter

  @tff.federated_computation(
    tff.FederatedType(server_type, tff.SERVER if same else tff.CLIENTS),
    tff.FederatedType(client_type, tff.CLIENTS),
  )
  def compute(sent, held):
    received = tff.federated_broadcast(sent) if same else sent
    return tff.federated_map(computation, (received, held))

  return compute


def _run(computation, *arguments, clients_at_once):
  with runtime.simulation_context(clients_at_once=clients_at_once):
    return computation(*arguments)


def _images(sizes=_SIZES):
  generator = np.random.default_rng(3)
  return [
    tf.data.Dataset.from_tensors(
      generator.normal(size=(size, 6, 6, 2)).astype(np.float32)
    )
    for size in sizes
  ]


def _numbers(*shape):
  return np.random.default_rng(4).normal(size=shape).astype(np.float32)


class StackedLeafTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._groups = self.enter_context(at_once.group_sizes())

  def _compare(self, computation, *arguments, same=True, groups=(3, 2, 1)):
    """Compares clients at once with one after another."""
    built = _build(computation, same=same)
    expected = _run(built, *arguments, clients_at_once=1)
    self.assertEmpty(self._groups)
    found = _run(built, *arguments, clients_at_once=3)
    self.assertEqual(sorted(self._groups, reverse=True), list(groups))
    self.assertAllClose(found, expected, rtol=1e-5, atol=1e-5)
    return found

  @parameterized.parameters(
    ('SAME', 1, True), ('VALID', 2, True), ('SAME', 2, False)
  )
  def test_training_a_convolution(self, padding, strides, same):
    @tff.tensorflow.computation(_KERNEL, _IMAGES)
    def train(kernel, dataset):
      images = _one_element(dataset)

      def step(number, kernel):
        def loss(kernel):
          features = tf.nn.conv2d(images, kernel, strides, padding)
          # A second one, whose images have a gradient.
          features = tf.nn.conv2d(
            tf.tanh(features), tf.transpose(kernel, [0, 1, 3, 2]), 1, 'SAME'
          )
          return tf.nn.l2_loss(features)

        with tf.GradientTape() as tape:
          tape.watch(kernel)
          value = loss(kernel)
        return number + 1, kernel - 0.01 * tape.gradient(value, kernel)

      return tf.while_loop(lambda i, _: i < 2, step, (0, kernel))[1]

    kernel = _numbers(3, 3, 2, 4)
    kernels = [kernel + i for i, _ in enumerate(_SIZES)]
    found = self._compare(
      train, kernel if same else kernels, _images(), same=same
    )
    self.assertNotAllClose(found[0], found[2])

  def test_loops_and_branches_in_which_clients_differ(self):
    """As many doublings as a client needs, which takes the better branch."""

    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(limit, dataset):
      images = _one_element(dataset)
      total, steps = tf.while_loop(
        lambda total, steps: total < limit,
        lambda total, steps: (2 * total, steps + 1),
        (tf.exp(tf.reduce_sum(images) / 10), 0),
      )
      return steps, tf.cond(
        tf.equal(steps % 2, 0), lambda: total - limit, lambda: tf.zeros([])
      )

    found = self._compare(compute, np.float32(1000), _images())
    self.assertGreater(len({int(steps) for steps, _ in found}), 1)
    self.assertLen({bool(rest) for _, rest in found}, 2)

  def test_lists_in_loops(self):
    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(factor, dataset):
      images = _one_element(dataset)
      return tf.map_fn(lambda image: factor * tf.reduce_sum(image), images)

    self._compare(compute, np.float32(2), _images())

  def test_results_of_different_lengths(self):
    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(threshold, dataset):
      images = _one_element(dataset)
      means = tf.map_fn(tf.reduce_mean, images)
      return tf.boolean_mask(means, means > threshold), tf.size(means)

    found = self._compare(compute, np.float32(0), _images())
    self.assertGreater(len({len(chosen) for chosen, _ in found}), 1)

  def test_operations_that_have_no_form_for_several_clients(self):
    """There is one for each client; so each has its own random numbers."""

    @tff.tensorflow.computation(np.int32, _IMAGES)
    def compute(seed, dataset):
      images = _one_element(dataset)
      key = tf.cast(1000 * tf.reduce_sum(images), tf.int32)
      noise = tf.while_loop(
        lambda i, noise: i < 2,
        lambda i, noise: (
          i + 1,
          noise + tf.random.stateless_uniform([3], tf.stack([seed, key])),
        ),
        (0, tf.zeros([3])),
      )[1]
      best, where = tf.math.top_k(noise, 2)
      return noise, best, where, tf.histogram_fixed_width(noise, [0.0, 2.0], 4)

    found = self._compare(compute, np.int32(7), _images())
    self.assertNotAllClose(found[0][0], found[2][0])

  def test_what_is_the_same_for_all_clients(self):
    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(limit, dataset):
      total = tf.while_loop(lambda x: x < limit, lambda x: 3 * x, (1.0,))[0]
      return total, tf.shape(_one_element(dataset))

    found = self._compare(compute, np.float32(100), _images())
    self.assertEqual({float(total) for total, _ in found}, {243.0})

  def test_random_numbers_without_a_seed(self):
    """They are the client's own, though nothing that they come from is."""

    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(start, dataset):
      def draw(i, total):
        return i + 1, total + tf.cond(
          i > 0, lambda: tf.random.uniform([3]), lambda: tf.ones([3])
        )

      noise = tf.while_loop(lambda i, _: i < 2, draw, (0, start * tf.ones([3])))
      return noise[1], tf.size(_one_element(dataset))

    built = _build(compute, same=True)
    found = _run(built, np.float32(5), _images(), clients_at_once=3)
    for noise, _ in found:
      self.assertAllInRange(noise, 6, 7)
    self.assertLen({noise.tobytes() for noise, _ in found}, len(_SIZES))

  @parameterized.parameters(
    # Of 3, 5 and 4 clients; 8 are written where 5 could come, and 6 are most.
    (8, (3, 5, 4), [4, 8]),
    (6, (5, 6), [6]),
    (2, (2, 1), [2]),
  )
  def test_is_written_for_few_numbers_of_clients(self, most, cohorts, written):
    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(start, dataset):
      total = tf.reduce_sum(_one_element(dataset))
      return tf.while_loop(
        lambda i, _: i < 2, lambda i, x: (i + 1, x + total), (0, start)
      )[1]

    built = _build(compute, same=True)
    build = stacked_functions.StackedGraph.build
    with (
      mock.patch.object(
        stacked_functions.StackedGraph,
        'build',
        autospec=True,
        side_effect=build,
      ) as building,
      runtime.simulation_context(clients_at_once=most),
    ):
      found = [built(np.float32(1), _images((3,) * each)) for each in cohorts]
    # The last argument is the number of clients.
    numbers = [call.args[-1] for call in building.call_args_list]
    self.assertEqual(numbers, written)
    for sums, number in zip(found, cohorts, strict=True):
      self.assertAllClose(
        sums,
        _run(built, np.float32(1), _images((3,) * number), clients_at_once=1),
      )

  def test_code_without_a_loop_is_run_by_each(self):
    @tff.tensorflow.computation(np.float32, tff.TensorType(np.float32, [2]))
    def compute(factor, values):
      return factor * values

    self._compare(compute, np.float32(2), [_numbers(2)] * 3, groups=())

  @parameterized.named_parameters(
    ('shapes', 'Where', lambda images: tf.boolean_mask(images, images > 0)),
    (
      'variables',
      'VarHandleOp',
      lambda images: tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[]),
    ),
  )
  def test_refuses(self, op, bad):
    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(start, dataset):
      images = _one_element(dataset)

      def step(i, total):
        value = bad(images + total)
        if value.dtype == tf.resource:
          tf.raw_ops.AssignVariableOp(resource=value, value=total)
          value = tf.raw_ops.ReadVariableOp(resource=value, dtype=tf.float32)
        return i + 1, total + tf.reduce_sum(value)

      return tf.while_loop(lambda i, _: i < 2, step, (0, start))[1]

    built = _build(compute, same=True)
    with self.assertRaisesRegex(runtime.NotAtOnceError, f'{op}.* at once'):
      _run(built, np.float32(0), _images(), clients_at_once=3)

  def test_errors_name_the_clients(self):
    @tff.tensorflow.computation(np.float32, _IMAGES)
    def compute(limit, dataset):
      total = tf.reduce_sum(_one_element(dataset))
      return tf.while_loop(
        lambda i, _: i < 2,
        lambda i, x: (i + 1, tf.debugging.check_numerics(x / limit, 'bad')),
        (0, total),
      )[1]

    built = _build(compute, same=True)
    with self.assertRaisesRegex(
      runtime.ComputationError, r'(?s)Clients 0, 1 \(of 3.*bad'
    ):
      _run(built, np.float32(0), _images((3, 3, 2)), clients_at_once=2)

  def test_how_many_at_once(self):
    with self.assertRaisesRegex(ValueError, 'clients_at_once.* >= 1, found 0'):
      runtime.InProcessContext(clients_at_once=0)
    with self.assertRaisesRegex(ValueError, 'clients_at_once.*in_process'):
      with runtime.simulation_context('native', clients_at_once=2):
        pass


if __name__ == '__main__':
  tf.test.main()
