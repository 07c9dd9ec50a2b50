# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that TensorFlow code agrees on both runtimes, in repeated calls.

TFF's worker runs each call in a session of its own. What TensorFlow keeps must
not outlive the call on the other one either.
"""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement


def _use_variables(n):
  variable = tf.Variable(3)
  with tf.control_dependencies([variable.assign_add(n)]):
    return variable.read_value()


def _use_tables(n):
  static = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.range(9), 2 * tf.range(9)), -1
  )
  mutable = tf.lookup.experimental.DenseHashTable(
    tf.int32, tf.int32, -1, empty_key=-1, deleted_key=-2
  )
  with tf.control_dependencies([mutable.insert(n, static.lookup(n))]):
    return mutable.lookup([n, n + 1]), mutable.size()


def _use_generators(n):
  generator = tf.random.Generator.from_seed(3)
  return generator.normal([2]), tf.random.stateless_uniform([2], [n, 1])


def _use_op_with_seed(n):
  # Random at each call: the third call agrees in both runtimes.
  return tf.cast(n, tf.float32) + tf.random.uniform([2], seed=5)


def _use_pipeline(n):
  return (
    tf.data.Dataset.range(tf.cast(n, tf.int64))
    .shuffle(4, seed=1)
    .interleave(lambda x: tf.data.Dataset.range(x, x + 2), num_parallel_calls=2)
    .cache()
    .repeat(2)
    .batch(3, drop_remainder=True)
    .prefetch(1)
  )


def _use_loops(n):
  @tf.function
  def sum_of_sums(n):
    total = 0
    for i in tf.range(n):
      if i % 2 == 0:
        for j in tf.range(i):
          total += j
    return total

  return sum_of_sums(n), tf.map_fn(lambda x: x * n, tf.range(3))


def _use_strings(n):
  text = tf.strings.format('{}-{}', [n, n + 1])
  return text, tf.strings.split(text, '-'), tf.strings.length(text)


class TffTensorFlowTest(agreement.AgreementTestCase):
  @parameterized.parameters(
    _use_variables,
    _use_tables,
    _use_generators,
    _use_op_with_seed,
    _use_pipeline,
    _use_loops,
    _use_strings,
  )
  def test_each_call_starts_afresh(self, fn):
    computation = tff.tensorflow.computation(fn, np.int32)
    found = [self.assert_agree(computation, n) for n in (4, 4, 6)]
    first, _, other = (repr(agreement.to_leaves(result)) for result in found)
    self.assertNotEqual(first, other)


if __name__ == '__main__':
  tf.test.main()
