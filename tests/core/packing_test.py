# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of arithmetic on many tensors by few operations."""

from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl.core import optimizers

_SHAPES = ([3], [2, 2], [], [0], [5000], [70, 70])


def _draw(seed):
  generator = np.random.default_rng(seed)
  return [generator.normal(size=s).astype(np.float32) for s in _SHAPES]


def _constants(arrays):
  return [tf.constant(array) for array in arrays]


class PackingTest(absltest.TestCase):
  def test_results_are_those_of_each_tensor(self):
    a, b = _draw(0), _draw(1)
    sums, products = optimizers.map_elements(
      lambda x, y, _: (x + y, x * y), _constants(a), _constants(b)
    )
    for x, y, total, product in zip(a, b, sums, products, strict=True):
      np.testing.assert_array_equal(total, x + y)
      np.testing.assert_array_equal(product, x * y)

  def test_small_tensors_of_one_kind_and_type_are_packed(self):
    tensors = _constants(_draw(0))
    tensors.append(tf.constant([2.0], tf.float64))
    seen = []

    def negate(x, kind):
      seen.append((kind, x.dtype, x.shape.as_list()))
      return (-x,)

    (negated,) = optimizers.map_elements(
      negate, tensors, kinds=[0, 1, 0, 1, 0, 1, 0]
    )
    self.assertCountEqual(
      seen,
      [
        (0, tf.float32, [3 + 1]),
        (1, tf.float32, [4 + 0]),
        (0, tf.float32, [5000]),
        (1, tf.float32, [70, 70]),
        (0, tf.float64, [1]),
      ],
    )
    for tensor, result in zip(tensors, negated, strict=True):
      np.testing.assert_array_equal(result, -tensor)

  def test_on_a_gpu_all_but_large_tensors_are_packed(self):
    self.enter_context(
      mock.patch.object(tf.config, 'list_physical_devices', lambda _: ['a GPU'])
    )
    sizes = [3, 2**20 + 1, 5000, 2**20]
    (small, large) = optimizers.pack([tf.zeros([size]) for size in sizes])
    self.assertEqual(small.shape, [3 + 5000 + 2**20])
    self.assertEqual(large.shape, [2**20 + 1])

  def test_number_of_operations_does_not_grow_with_that_of_small_tensors(self):
    def count(number):
      @tf.function
      def run(tensors):
        return optimizers.map_elements(lambda x, _: (tf.exp(x),), tensors)

      graph = run.get_concrete_function([tf.zeros([2])] * number).graph
      return sum(op.type == 'Exp' for op in graph.get_operations())

    self.assertEqual(count(2), 1)
    self.assertEqual(count(20), 1)


if __name__ == '__main__':
  absltest.main()
