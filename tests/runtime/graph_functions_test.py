# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the TensorFlow code of computations."""

from collections.abc import Callable
import gc
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context as context_lib
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import errors
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime.ray import values as ray_values


def _create_function(computation):
  return graph_functions.GraphFunctionCache().get(
    computation.to_building_block()
  )


class GraphFunctionTest(parameterized.TestCase, tf.test.TestCase):
  def test_ignores_what_the_result_does_not_need(self):
    @tff.tensorflow.computation(np.int32, np.int32)
    def second(x, y):
      tf.debugging.assert_equal(x, 0)
      return y

    graph_function = _create_function(second)

    self.assertEqual(graph_function([tf.constant(1), tf.constant(2)]), 2)

  def test_functions_of_two_graphs_do_not_clash(self):
    def build(increment):
      @tf.function
      def same_name(x):
        return x + increment

      return tff.tensorflow.computation(same_name, np.int32)

    found = [_create_function(build(n))(tf.constant(0)) for n in (1, 2)]

    self.assertEqual(found, [1, 2])

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


class CallTest(tf.test.TestCase):
  def test_leaves_options_as_they_were(self):
    before = context_lib.context().function_call_options
    with (
      mock.patch.object(
        private_api, 'call_flat', side_effect=ZeroDivisionError()
      ),
      self.assertRaises(ZeroDivisionError),
    ):
      graph_functions.call(None, [])
    self.assertIs(context_lib.context().function_call_options, before)


_ARRAY = np.ones(3, np.float32)


def _count_left(function: Callable[[], object]) -> int:
  """The number of memory blocks that a second call leaves allocated.

  Memory that TensorFlow and Python keep for later calls is allocated in the
  first call.
  """
  function()
  gc.collect()
  before = sys.getallocatedblocks()
  function()
  gc.collect()
  return sys.getallocatedblocks() - before


class ReleasedTest(absltest.TestCase):
  def test_nothing_is_left_of_what_was_sent(self):
    def decode():
      for _ in range(1000):
        ray_values.decode([_ARRAY])

    self.assertLess(_count_left(decode), 500)

  def test_tensor_that_is_still_used(self):
    first, second = (tf.constant([1.0, number]) for number in range(2))
    graph_functions.release_attributes(first)
    graph_functions.release_attributes(second)
    np.testing.assert_array_equal(first + second, [2, 1])
    first.mine = 1
    third = graph_functions.release_attributes(tf.constant(2.0))
    self.assertFalse(hasattr(third, 'mine'))
    self.assertEqual(first.mine, 1)


if __name__ == '__main__':
  tf.test.main()
