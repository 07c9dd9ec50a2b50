# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that computations give the same results as in TFF.

TFF's worker runs each call in its own session: a call in this process must not
leave state in TensorFlow either.
"""

import collections

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement

_INTS = tff.FederatedType(np.int32, tff.CLIENTS)


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


@tff.federated_computation(_INTS)
def _secure_sum(value):
  return tff.federated_secure_sum(value, 3)


@tff.federated_computation(_INTS)
def _secure_modular_sum(value):
  return tff.backends.mapreduce.federated_secure_modular_sum(value, 4)


class TffComputationsTest(agreement.AgreementTestCase):
  @parameterized.named_parameters(
    ('value', {'x': np.float32(1.001)}),
    ('shape', {'x': np.array([1], np.float32)}),
    ('container', collections.OrderedDict(x=np.float32(1))),
  )
  def test_difference_would_be_found(self, other):
    value = {'x': np.float32(1)}
    self.assert_same(value, {'x': np.float32(1 + 1e-7)})
    with self.assertRaises(AssertionError):
      self.assert_same(value, other)

  @parameterized.parameters(
    _use_variables,
    _use_tables,
    _use_pipeline,
  )
  def test_each_call_starts_afresh(self, fn):
    computation = tff.tensorflow.computation(fn, np.int32)
    found = [self.assert_agree(computation, n) for n in (4, 4, 6)]
    first, _, other = (repr(agreement.to_leaves(result)) for result in found)
    self.assertNotEqual(first, other)

  def test_results_are_of_the_same_python_types(self):
    @tff.tensorflow.computation(tff.TensorType(np.float32, [None]))
    def describe(x):
      return collections.OrderedDict(
        array=x,
        scalar=tf.reduce_sum(x),
        integer=tf.size(x),
        string=tf.constant('a'),
        strings=tf.constant(['a', 'b']),
        truth=tf.constant(True),
        nested=[(x[0],), {'k': x[1]}],
        half=tf.cast(x, tf.bfloat16),
        nothing=(),
      )

    @tff.federated_computation(
      tff.FederatedType(tff.TensorType(np.float32, [None]), tff.CLIENTS)
    )
    def describe_all(x):
      return tff.federated_map(describe, x)

    self.assert_agree(describe_all, [np.array([1, 2], np.float32)] * 2)

  def test_secure_sums_are_refused_but_in_the_clear_they_work(self):
    # 1 + 2, and modulo 4 for 3 + 2.
    for computation, values, expected in (
      (_secure_sum, [1, 2], 3),
      (_secure_modular_sum, [3, 2], 1),
    ):
      with self.use(self.in_process):
        with self.assertRaisesRegex(
          NotImplementedError, 'federated_secure_.*no secure aggregation'
        ):
          computation(values)
      in_the_clear = tff.backends.test.replace_secure_intrinsics_with_bodies(
        computation
      )
      self.assertEqual(self.assert_agree(in_the_clear, values), expected)

  def test_jax_is_refused(self):
    add_one = tff.jax.computation(lambda x: x + 1, np.int32)
    with self.use(self.in_process):
      with self.assertRaisesRegex(
        NotImplementedError, "'xla'.*Write it with `tff.tensorflow.computation`"
      ):
        add_one(1)


if __name__ == '__main__':
  tf.test.main()
