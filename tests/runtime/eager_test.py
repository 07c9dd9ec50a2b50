# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of function calls, and that unused tensors are freed completely."""

from collections.abc import Callable
import gc
import sys
from unittest import mock

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context as context_lib
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.runtime import eager
from tff_semifl.runtime.ray import values as ray_values


class CallTest(tf.test.TestCase):
  def test_leaves_options_as_they_were(self):
    before = context_lib.context().function_call_options
    function = mock.Mock(_call_flat=mock.Mock(side_effect=ZeroDivisionError()))
    with self.assertRaises(ZeroDivisionError):
      eager.call(function, [])
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
