# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of function calls, and that unused tensors are freed completely."""

from collections.abc import Callable
import gc
import sys

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.python.eager import context as context_lib
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.runtime import eager
from tff_semifl.runtime.ray import values as ray_values

_RewriterConfig = rewriter_config_pb2.RewriterConfig


def _options() -> tuple[config_pb2.ConfigProto, str | None]:
  options = context_lib.context().function_call_options
  return (
    config_pb2.ConfigProto.FromString(options.config_proto_serialized),
    options.executor_type,
  )


class _Function:
  """Records the options of its calls."""

  def __init__(self, error: Exception | None = None):
    self.options = None
    self._error = error

  def _call_flat(self, tensors, captured):
    del captured  # There is nothing.
    self.options = _options()
    if self._error is not None:
      raise self._error
    return tensors


class CallTest(tf.test.TestCase):
  def test_optimizes_by_one_pass_without_remapping_and_as_usual_else(self):
    expected, executor = _options()
    rewriting = expected.graph_options.rewrite_options
    self.assertEqual(
      rewriting.meta_optimizer_iterations,
      _RewriterConfig.DEFAULT_NUM_ITERS,
    )
    rewriting.meta_optimizer_iterations = _RewriterConfig.ONE
    rewriting.remapping = _RewriterConfig.OFF
    function = _Function()

    eager.call(function, [])

    self.assertEqual(function.options, (expected, executor))

  def test_heeds_options_of_the_process(self):
    option = 'disable_meta_optimizer'
    self.addCleanup(
      tf.config.optimizer.set_experimental_options, {option: False}
    )
    tf.config.optimizer.set_experimental_options({option: True})
    function = _Function()

    with tf.experimental.function_executor_type('SINGLE_THREADED_EXECUTOR'):
      eager.call(function, [])

    config, executor = function.options
    self.assertTrue(config.graph_options.rewrite_options.disable_meta_optimizer)
    self.assertEqual(executor, 'SINGLE_THREADED_EXECUTOR')

  def test_leaves_options_as_they_were(self):
    before = context_lib.context().function_call_options

    eager.call(_Function(), [])
    with self.assertRaises(ZeroDivisionError):
      eager.call(_Function(ZeroDivisionError()), [])

    self.assertIs(context_lib.context().function_call_options, before)


_ARRAY = np.ones(3, np.float32)


def _count_left(function: Callable[[], object]) -> int:
  """Returns how many blocks of memory a second call leaves.

  What TensorFlow and Python keep for later calls is there after the first.
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

  @pytest.mark.slow
  def test_nothing_is_left_of_a_computation(self):
    arrays = [(np.float32, [3])] * 10
    double = tff.tensorflow.computation(
      lambda xs: [2 * x for x in xs], tff.types.to_type(arrays)
    )

    @tff.federated_computation(tff.FederatedType(arrays, tff.CLIENTS))
    def work(values):
      return tff.federated_sum(tff.federated_map(double, values))

    clients = [[_ARRAY] * 10] * 100
    with runtime.simulation_context():
      # Arguments, results and sums of all clients.
      self.assertLess(_count_left(lambda: work(clients)), 500)

  def test_tensor_that_is_still_used(self):
    first, second = (tf.constant([1.0, number]) for number in range(2))
    eager.release_attributes(first)
    eager.release_attributes(second)
    np.testing.assert_array_equal(first + second, [2, 1])
    first.mine = 1
    third = eager.release_attributes(tf.constant(2.0))
    self.assertFalse(hasattr(third, 'mine'))
    self.assertEqual(first.mine, 1)

  def test_tensor_of_a_graph_keeps_its_attributes(self):
    @tf.function
    def trace(tensor):
      tensor.mine = 1
      self.assertEqual(eager.release_attributes(tensor).mine, 1)
      return tensor

    trace(tf.constant(1.0))


if __name__ == '__main__':
  absltest.main()
