# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of arguments and results in the in-process context."""

import collections
from typing import NamedTuple

from absl.testing import parameterized
import attrs
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import in_process


class _Pair(NamedTuple):
  left: object
  right: object


@attrs.define
class _Attributes:
  left: object
  right: object


def _at_clients(member_type, **kwargs):
  return tff.FederatedType(member_type, tff.CLIENTS, **kwargs)


@tff.tensorflow.computation(np.int32)
def _increment(x):
  return x + 1


class ValuesTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._context = in_process.InProcessContext()

  @parameterized.parameters(
    np.bool_,
    np.uint8,
    np.int64,
    np.float16,
    np.complex64,
    tf.bfloat16.as_numpy_dtype,
  )
  def test_scalars_and_arrays_keep_their_dtype(self, dtype):
    scalar_type = tff.TensorType(dtype)
    array_type = tff.TensorType(dtype, [None])
    same = tff.tensorflow.computation(
      lambda x, y: (x, y), (scalar_type, array_type)
    )
    array = np.array([0, 1, 1]).astype(dtype)

    scalar, found = self._context.invoke(same, (array[1], array))

    self.assertIsInstance(scalar, np.generic)
    self.assertEqual(scalar.dtype, dtype)
    self.assertEqual(scalar, array[1])
    self.assertEqual(found.dtype, dtype)
    self.assertAllEqual(found, array)

  @parameterized.named_parameters(
    ('python', 2),
    ('numpy', np.int32(2)),
    ('narrower', np.int8(2)),
    ('eager', tf.constant(2)),
    ('eager_narrower', tf.constant(2, tf.int8)),
    ('variable', tf.Variable(2)),
  )
  def test_numbers_of_many_kinds_are_accepted(self, value):
    self.assertEqual(self._context.invoke(_increment, value), 3)

  @parameterized.named_parameters(
    ('float', 2.0),
    ('wider', np.int64(2)),
    ('eager_wider', tf.constant(2, tf.int64)),
    ('shape', np.zeros([1], np.int32)),
    ('eager_shape', tf.zeros([1], tf.int32)),
    ('string', 'a'),
    ('list', [1, 2.0]),
  )
  def test_tensor_of_another_type_is_refused(self, value):
    with self.assertRaisesRegex(TypeError, 'Expected int32'):
      self._context.invoke(_increment, value)

  @parameterized.named_parameters(
    ('dict', dict(left=1, right=[2, 3])),
    ('ordered_dict', collections.OrderedDict(left=1, right=(2, 3))),
    ('named_tuple', _Pair(1, [2, 3])),
    ('attrs', _Attributes(1, collections.OrderedDict(z=2, a=3))),
    ('list', [1, (2, 3)]),
    ('empty', _Pair((), [])),
  )
  def test_python_containers_return(self, value):
    value_type = tff.types.to_type(
      tf.nest.map_structure(lambda _: np.int32, value)
    )
    same = tff.tensorflow.computation(lambda x: x, value_type)
    in_federation = tff.federated_computation(
      lambda x: tff.federated_map(same, x),
      tff.FederatedType(value_type, tff.SERVER),
    )
    for computation in (same, in_federation):
      found = self._context.invoke(computation, value)
      self.assertIs(type(found), type(value))
      self.assertEqual(found, value)

  def test_struct_of_another_length_or_name_is_refused(self):
    same = tff.tensorflow.computation(
      lambda x: x, collections.OrderedDict(a=np.int32, b=np.int32)
    )
    with self.assertRaisesRegex(TypeError, 'Expected 2 elements .* found 1'):
      self._context.invoke(same, collections.OrderedDict(a=1))
    with self.assertRaisesRegex(TypeError, "Expected .* 'b' .* found 'c'"):
      self._context.invoke(same, collections.OrderedDict(a=1, c=1))

  @parameterized.named_parameters(
    ('list', [1, 2, 3]),
    ('empty_list', []),
    ('dataset', tf.data.Dataset.from_tensor_slices(np.array([1, 2], 'i'))),
  )
  def test_sequences(self, value):
    @tff.tensorflow.computation(tff.SequenceType(np.int32))
    def negate_and_count(dataset):
      return dataset.map(lambda x: -x), dataset.reduce(0, lambda n, _: n + 1)

    dataset, count = self._context.invoke(negate_and_count, value)

    self.assertEqual(list(dataset), [-x for x in value])
    self.assertEqual(count, len(value))

  def test_elements_of_sequences_keep_names_and_order(self):
    element_type = collections.OrderedDict(z=np.int32, a=np.int32)

    @tff.tensorflow.computation(tff.SequenceType(element_type))
    def increment_z(dataset):
      return dataset.map(
        lambda e: collections.OrderedDict(z=e['z'] + 1, a=e['a'])
      )

    dataset = tf.data.Dataset.from_tensors(collections.OrderedDict(z=1, a=5))
    (element,) = self._context.invoke(increment_z, dataset)

    self.assertEqual(list(element), ['z', 'a'])
    self.assertEqual(element, dict(z=2, a=5))

  def test_sequence_of_another_type_is_refused(self):
    count = tff.tensorflow.computation(
      lambda d: d.reduce(0, lambda n, _: n + 1), tff.SequenceType(np.int32)
    )
    with self.assertRaisesRegex(TypeError, r'int32\*, found float32\*'):
      self._context.invoke(count, tf.data.Dataset.from_tensors(1.0))
    with self.assertRaisesRegex(TypeError, 'a dataset or a list'):
      self._context.invoke(count, 3)

  def test_value_that_clients_share(self):
    same = tff.federated_computation(
      lambda x: (x, tff.federated_sum(x)), _at_clients(np.int32, all_equal=True)
    )
    context = in_process.InProcessContext(default_num_clients=3)
    self.assertEqual(context.invoke(same, 5), (5, 15))

  def test_calls_are_eager_while_the_caller_traces_a_function(self):
    found = []

    @tf.function(autograph=False)
    def trace():
      found.append(self._context.invoke(_increment, 1))

    trace()

    self.assertEqual(found, [2])


if __name__ == '__main__':
  tf.test.main()
