# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for calls of TensorFlow functions."""

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.python.eager import context as context_lib

from tff_semifl.runtime import function_calls

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
  def test_returns_results(self):
    spec = tf.TensorSpec([], tf.float32)
    function = tf.function(lambda x, y: [x - y, x * y])

    results = function_calls.call(
      function.get_concrete_function(spec, spec),
      [tf.constant(5.0), tf.constant(2.0)],
    )

    self.assertAllEqual(results, [3.0, 10.0])

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

    function_calls.call(function, [])

    self.assertEqual(function.options, (expected, executor))

  def test_heeds_options_of_the_process(self):
    option = 'disable_meta_optimizer'
    self.addCleanup(
      tf.config.optimizer.set_experimental_options, {option: False}
    )
    tf.config.optimizer.set_experimental_options({option: True})
    function = _Function()

    with tf.experimental.function_executor_type('SINGLE_THREADED_EXECUTOR'):
      function_calls.call(function, [])

    config, executor = function.options
    self.assertTrue(config.graph_options.rewrite_options.disable_meta_optimizer)
    self.assertEqual(executor, 'SINGLE_THREADED_EXECUTOR')

  def test_leaves_options_as_they_were(self):
    before = context_lib.context().function_call_options

    function_calls.call(_Function(), [])
    with self.assertRaises(ZeroDivisionError):
      function_calls.call(_Function(ZeroDivisionError()), [])

    self.assertIs(context_lib.context().function_call_options, before)


if __name__ == '__main__':
  tf.test.main()
