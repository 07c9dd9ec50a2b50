# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for the context that runs computations in this process."""

import collections
from concurrent import futures
import gc
import threading
from typing import NamedTuple
from unittest import mock

from absl.testing import parameterized
import attrs
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import compiler
from tff_semifl.runtime import errors
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


def _build_add(n):
  return lambda x: x + n


@tff.federated_computation(_at_clients(np.int32))
def _increment_and_sum(values):
  values = tff.federated_map(_increment, values)
  return values, tff.federated_sum(values)


@tff.federated_computation(_at_clients(np.int32), _at_clients(np.int32))
def _sum_both(first, second):
  return tff.federated_sum(first), tff.federated_sum(second)


class ValuesTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._context = in_process.InProcessContext()

  @parameterized.parameters(
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
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

  @parameterized.parameters('ab', b'ab', np.str_('ab'))
  def test_strings_return_as_bytes(self, value):
    twice = tff.tensorflow.computation(
      lambda x: tf.strings.join([x, x]), np.str_
    )
    self.assertEqual(self._context.invoke(twice, value), b'abab')

  @parameterized.named_parameters(
    ('list', ['a', 'bc']),
    ('numpy', np.array(['a', 'bc'])),
    ('bytes', np.array([b'a', b'bc'], object)),
    ('eager', tf.constant(['a', 'bc'])),
  )
  def test_arrays_of_strings(self, value):
    twice = tff.tensorflow.computation(
      lambda x: tf.strings.join([x, x]), tff.TensorType(np.str_, [2])
    )
    found = self._context.invoke(twice, value)
    self.assertEqual(found.tolist(), [b'aa', b'bcbc'])

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

  def test_nested_lists_are_tensors_where_the_type_says_so(self):
    total = tff.tensorflow.computation(
      lambda x: tf.reduce_sum(x), tff.TensorType(np.int32, [2, 2])
    )
    self.assertEqual(self._context.invoke(total, [[1, 2], [3, 4]]), 10)

  @parameterized.named_parameters(
    ('dict', dict(left=1, right=[2, 3])),
    ('ordered_dict', collections.OrderedDict(left=1, right=(2, 3))),
    ('named_tuple', _Pair(1, [2, 3])),
    ('attrs', _Attributes(1, collections.OrderedDict(z=2, a=3))),
    ('list', [1, (2, 3)]),
    ('empty', _Pair((), [])),
  )
  def test_python_containers_return(self, value):
    value_type = tff.types.to_type(_type_spec(value))
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

  @parameterized.named_parameters(
    ('dict', dict),
    ('ordered_dict', collections.OrderedDict),
    ('named_tuple', collections.namedtuple('_Element', ['z', 'a'])),
  )
  def test_elements_keep_their_names_in_any_container(self, container):
    @tff.tensorflow.computation(
      tff.SequenceType(collections.OrderedDict(z=np.int32, a=np.int32))
    )
    def sum_z(dataset):
      return dataset.reduce(0, lambda total, element: total + element['z'])

    dataset = tf.data.Dataset.from_tensor_slices(
      container(z=np.array([1, 2], np.int32), a=np.array([10, 20], np.int32))
    )

    self.assertEqual(self._context.invoke(sum_z, dataset), 3)

  def test_sequence_of_another_type_is_refused(self):
    count = tff.tensorflow.computation(
      lambda d: d.reduce(0, lambda n, _: n + 1), tff.SequenceType(np.int32)
    )
    with self.assertRaisesRegex(TypeError, r'int32\*, found float32\*'):
      self._context.invoke(count, tf.data.Dataset.from_tensors(1.0))
    with self.assertRaisesRegex(TypeError, 'a dataset or a list'):
      self._context.invoke(count, 3)

  def test_a_function_may_be_an_argument(self):
    @tff.federated_computation(
      tff.FunctionType(np.int32, np.int32), _at_clients(np.int32)
    )
    def apply(fn, values):
      return tff.federated_map(fn, values)

    found = self._context.invoke(
      apply, tff.structure.Struct.unnamed(_increment, [1, 2])
    )

    self.assertEqual(found, [2, 3])

  def test_value_that_clients_share(self):
    same = tff.federated_computation(
      lambda x: (x, tff.federated_sum(x)), _at_clients(np.int32, all_equal=True)
    )
    context = in_process.InProcessContext(default_num_clients=3)
    self.assertEqual(context.invoke(same, 5), (5, 15))

  def test_results_are_not_tied_to_arguments(self):
    array = np.arange(3)
    same = tff.tensorflow.computation(
      lambda x: x, tff.TensorType(np.int64, [3])
    )
    found = self._context.invoke(same, array)
    array[:] = 7
    self.assertAllEqual(found, [0, 1, 2])

  def test_calls_are_eager_while_the_caller_traces_a_function(self):
    found = []

    @tf.function(autograph=False)
    def trace():
      found.append(self._context.invoke(_increment, 1))

    trace()

    self.assertEqual(found, [2])

  def test_a_call_in_a_graph_is_refused(self):
    with tf.Graph().as_default():
      with self.assertRaisesRegex(RuntimeError, 'outside of `tf.Graph'):
        self._context.invoke(_increment, 1)


class ClientsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(0, 1, 2, 5)
  def test_number_of_clients_is_that_of_the_argument(self, num_clients):
    context = in_process.InProcessContext(default_num_clients=3)
    found = context.invoke(_increment_and_sum, list(range(num_clients)))
    self.assertEqual(
      found,
      (
        list(range(1, num_clients + 1)),
        num_clients * (num_clients + 1) // 2,
      ),
    )

  @parameterized.parameters(0, 3)
  def test_default_number_of_clients(self, num_clients):
    @tff.federated_computation
    def count():
      return tff.federated_sum(tff.federated_value(1, tff.CLIENTS))

    context = in_process.InProcessContext(default_num_clients=num_clients)
    self.assertEqual(context.invoke(count, None), num_clients)

  def test_different_numbers_of_clients_are_refused(self):
    with self.assertRaisesRegex(ValueError, r'numbers of clients: \[2, 3\]'):
      in_process.InProcessContext().invoke(
        _sum_both, tff.structure.Struct.unnamed([1, 2], [1, 2, 3])
      )

  def test_value_at_clients_has_to_be_a_list(self):
    with self.assertRaisesRegex(TypeError, 'one value per client'):
      in_process.InProcessContext().invoke(_increment_and_sum, 1)

  @parameterized.parameters(1, 4)
  def test_error_names_the_client(self, max_concurrent_clients):
    @tff.tensorflow.computation(np.int32)
    def fail_at_two(x):
      with tf.control_dependencies(
        [tf.debugging.assert_none_equal(x, 2, message='two is too much')]
      ):
        return tf.identity(x)

    @tff.federated_computation(_at_clients(np.int32))
    def run(values):
      return tff.federated_map(fail_at_two, values)

    context = in_process.InProcessContext(
      max_concurrent_clients=max_concurrent_clients
    )
    self.addCleanup(context.close)
    with self.assertRaisesRegex(
      errors.ComputationError,
      "(?s)^In 'run': Client 1 .of 3.*two is too much",
    ) as raised:
      context.invoke(run, [1, 2, 3])
    self.assertIsInstance(
      raised.exception.__cause__.__cause__.__cause__,
      tf.errors.InvalidArgumentError,
    )
    # The context goes on working.
    self.assertEqual(context.invoke(run, [1, 3]), [1, 3])

  def test_error_of_a_computation_without_a_parameter(self):
    @tff.tensorflow.computation
    def fail():
      with tf.control_dependencies([tf.debugging.Assert(False, ['at once'])]):
        return tf.constant(0)

    @tff.federated_computation
    def run():
      return fail()

    for computation in (fail, run):
      with self.assertRaisesRegex(errors.ComputationError, '(?s)^Tensor.*once'):
        in_process.InProcessContext().invoke(computation, None)

  def test_threads_change_nothing_but_the_time(self):
    @tff.tensorflow.computation(tff.TensorType(np.int32, [2]))
    def draw(seed):
      return tf.random.stateless_normal([100], seed)

    @tff.federated_computation(_at_clients(tff.TensorType(np.int32, [2])))
    def run(seeds):
      drawn = tff.federated_map(draw, seeds)
      return drawn, tff.federated_mean(drawn)

    seeds = [np.array([1, n], np.int32) for n in range(9)]
    found = []
    for max_concurrent_clients in (1, 4):
      context = in_process.InProcessContext(
        max_concurrent_clients=max_concurrent_clients
      )
      self.addCleanup(context.close)
      found.append(context.invoke(run, seeds))

    # Bit for bit: the order of additions is the same.
    self.assertAllEqual(found[0][0], found[1][0])
    self.assertAllEqual(found[0][1], found[1][1])

  def test_as_many_clients_work_at_a_time_as_allowed(self):
    # Each of two clients waits for the other: one at a time would time out.
    barrier = threading.Barrier(2, timeout=20)

    def meet(x):
      barrier.wait()
      return x

    @tff.federated_computation(_at_clients(np.int32))
    def run(values):
      return tff.federated_map(
        tff.tensorflow.computation(
          lambda x: tf.numpy_function(meet, [x], tf.int32), np.int32
        ),
        values,
      )

    context = in_process.InProcessContext(max_concurrent_clients=2)
    self.addCleanup(context.close)
    self.assertEqual(context.invoke(run, [1, 2]), [1, 2])

  def test_interrupt_comes_through(self):
    def interrupt(*_):
      raise KeyboardInterrupt

    context = in_process.InProcessContext()
    context.invoke(_increment_and_sum, [1])
    with mock.patch.object(
      in_process.cohorts.Cohort, 'run_for', side_effect=interrupt
    ):
      with self.assertRaises(KeyboardInterrupt):
        context.invoke(_increment_and_sum, [1])

  @parameterized.parameters(
    (dict(default_num_clients=-1), 'default_num_clients.* >= 0'),
    (dict(max_concurrent_clients=0), 'max_concurrent_clients.* >= 1'),
  )
  def test_numbers_out_of_range_are_refused(self, kwargs, message):
    with self.assertRaisesRegex(ValueError, message):
      in_process.InProcessContext(**kwargs)


class CachingTest(tf.test.TestCase):
  def test_compiles_and_imports_once_for_all_numbers_of_clients(self):
    context = in_process.InProcessContext()
    with (
      mock.patch.object(
        compiler, 'compile_to_block', wraps=compiler.compile_to_block
      ) as compile_mock,
      mock.patch.object(
        tf.compat.v1, 'wrap_function', wraps=tf.compat.v1.wrap_function
      ) as import_mock,
    ):
      context.invoke(_increment_and_sum, [1, 2])
      num_imports = import_mock.call_count
      for num_clients in range(5):
        context.invoke(_increment_and_sum, [1] * num_clients)

      self.assertEqual(compile_mock.call_count, 1)
      self.assertGreater(num_imports, 0)
      self.assertEqual(import_mock.call_count, num_imports)

  def test_two_computations_share_a_leaf(self):
    context = in_process.InProcessContext()
    with mock.patch.object(
      tf.compat.v1, 'wrap_function', wraps=tf.compat.v1.wrap_function
    ) as import_mock:
      for placement in (tff.CLIENTS, tff.SERVER):
        computation = tff.federated_computation(
          lambda x: tff.federated_map(_increment, x),
          tff.FederatedType(np.int32, placement, all_equal=True),
        )
        context.invoke(computation, 1)
        # Kept alive, as is the leaf with it.
        setattr(self, placement.name, computation)

      self.assertEqual(import_mock.call_count, 1)

  def test_forgets_computations_that_no_longer_exist(self):
    context = in_process.InProcessContext()
    for n in range(3):
      increment = tff.tensorflow.computation(_build_add(n), np.int32)
      self.assertEqual(context.invoke(increment, 1), n + 1)
    self.assertNotEmpty(context._compiled)
    del increment
    gc.collect()

    self.assertEmpty(context._compiled)
    self.assertEmpty(context._leaves)

  def test_may_be_used_by_several_threads(self):
    context = in_process.InProcessContext(max_concurrent_clients=2)
    self.addCleanup(context.close)

    def run(n):
      return context.invoke(_increment_and_sum, [n] * n)

    with futures.ThreadPoolExecutor(4) as threads:
      found = list(threads.map(run, range(8)))

    self.assertEqual(found, [([n + 1] * n, (n + 1) * n) for n in range(8)])


def _type_spec(value):
  """Returns the containers of `value` around `np.int32`."""
  if isinstance(value, int):
    return np.int32
  if attrs.has(type(value)):
    return type(value)(
      **{
        k: _type_spec(v) for k, v in attrs.asdict(value, recurse=False).items()
      }
    )
  if isinstance(value, dict):
    return type(value)((k, _type_spec(v)) for k, v in value.items())
  if hasattr(value, '_fields'):
    return type(value)(*map(_type_spec, value))
  return type(value)(map(_type_spec, value))


if __name__ == '__main__':
  tf.test.main()
