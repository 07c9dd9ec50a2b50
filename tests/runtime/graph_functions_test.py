# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for the TensorFlow code of computations."""

import threading
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import graph_functions


def _create_function(computation):
  return graph_functions.GraphFunctionCache().get(
    computation.to_building_block()
  )


class GraphFunctionTest(parameterized.TestCase, tf.test.TestCase):
  def test_nests_arguments_and_results_like_their_types(self):
    @tff.tensorflow.computation((np.int32, (np.int32, np.int32)))
    def swap(x):
      return (x[1][1], x[0]), x[1][0] + 1

    graph_function = _create_function(swap)

    one, two, three = (tf.constant(n) for n in (1, 2, 3))
    self.assertEqual(graph_function([one, [two, three]]), [[3, 1], 3])

  def test_ignores_what_the_result_does_not_need(self):
    @tff.tensorflow.computation(np.int32, np.int32)
    def second(x, y):
      tf.debugging.assert_equal(x, 0)
      return y

    graph_function = _create_function(second)

    self.assertEqual(graph_function([tf.constant(1), tf.constant(2)]), 2)

  def test_threads_share_one_import(self):
    graph_function = _create_function(
      tff.tensorflow.computation(lambda x: x + 1, np.int32)
    )
    results = {}

    def run(n):
      results[n] = int(graph_function(tf.constant(n)))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    with mock.patch.object(
      tf.graph_util, 'import_graph_def', wraps=tf.graph_util.import_graph_def
    ) as importer:
      for thread in threads:
        thread.start()
      for thread in threads:
        thread.join()

    self.assertEqual(results, {n: n + 1 for n in range(8)})
    importer.assert_called_once()

  def test_functions_of_two_graphs_do_not_clash(self):
    def build(increment):
      @tf.function
      def same_name(x):
        return x + increment

      return tff.tensorflow.computation(same_name, np.int32)

    found = [_create_function(build(n))(tf.constant(0)) for n in (1, 2)]

    self.assertEqual(found, [1, 2])

  def test_gradient_through_a_function(self):
    @tff.tensorflow.computation(np.float32)
    def slope(x):
      @tf.function
      def cube(y):
        return y**3

      with tf.GradientTape() as tape:
        tape.watch(x)
        y = cube(x)
      return tape.gradient(y, x)

    self.assertAllClose(
      _create_function(slope)(tf.constant(2.0)), 12.0
    )  # 3 * 2^2

  def test_unseeded_random_numbers_are_fresh_at_each_call(self):
    graph_function = _create_function(
      tff.tensorflow.computation(
        lambda: tf.random.uniform([], dtype=tf.float64)
      )
    )

    self.assertLen({float(graph_function(None)) for _ in range(5)}, 5)

  def test_error_has_the_type_and_the_message(self):
    @tff.tensorflow.computation(np.int32)
    def check(x):
      with tf.control_dependencies(
        [tf.debugging.assert_positive(x, message='x must be positive')]
      ):
        return tf.identity(x)

    with self.assertRaisesRegex(
      errors.ComputationError,
      r'(?s)\(int32 -> int32\) failed: .*x must be positive',
    ) as context:
      _create_function(check)(tf.constant(-1))
    self.assertIsInstance(
      context.exception.__cause__, tf.errors.InvalidArgumentError
    )

  def test_xla_compiles_what_asks_for_it(self):
    # XLA has no strings.
    @tff.tensorflow.computation(np.int32)
    def count_digits(x):
      return tf.function(
        lambda x: tf.strings.length(tf.strings.as_string(x)), jit_compile=True
      )(x)

    with self.assertRaisesRegex(errors.ComputationError, 'XLA'):
      _create_function(count_digits)(tf.constant(12))


class GraphFunctionCacheTest(tf.test.TestCase):
  def test_equal_graphs_share_a_function_while_it_is_in_use(self):
    def build(increment):
      return tff.tensorflow.computation(
        lambda x: x + increment, np.int32
      ).to_building_block()

    cache = graph_functions.GraphFunctionCache()
    one = cache.get(build(1))

    self.assertIs(cache.get(build(1)), one)
    self.assertIsNot(cache.get(build(2)), one)

  def test_code_of_another_kind_is_refused(self):
    block = tff.tensorflow.computation(lambda: 1).to_building_block()
    proto = type(block.proto)(type=block.proto.type)
    proto.xla.SetInParent()

    with self.assertRaisesRegex(NotImplementedError, "'xla'"):
      graph_functions.GraphFunctionCache().get(
        tff.framework.CompiledComputation(
          proto, type_signature=block.type_signature
        )
      )


if __name__ == '__main__':
  tf.test.main()
