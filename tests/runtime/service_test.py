# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a worker's service, with TFF's own executor as the driver."""

import asyncio
import collections
import socket
import threading
import time

from absl.testing import parameterized
import grpc
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import executor_pb2
from tensorflow_federated.proto.v0 import executor_pb2_grpc

from tff_semifl.runtime import compiler
from tff_semifl.runtime import executors
from tff_semifl.runtime import server as server_lib

_AT_CLIENTS = tff.FederatedType(np.int32, tff.CLIENTS)
_AT_SERVER = tff.FederatedType(np.int32, tff.SERVER)
_ELEMENT = collections.OrderedDict(
  image=tff.TensorType(np.uint8, [None, 2]), label=np.int32
)


@tff.tensorflow.computation(np.int32)
def _double_positive(x):
  with tf.control_dependencies([tf.debugging.assert_positive(x)]):
    return 2 * x


class _Factory(tff.framework.ExecutorFactory):
  """Gives a context executors on one worker, and counts nothing."""

  def __init__(self, stub):
    self._stub = stub

  def create_executor(self, cardinalities):
    executor = tff.framework.RemoteExecutor(self._stub, dispose_batch_size=1)
    executor.set_cardinalities({tff.CLIENTS: 0, **cardinalities})
    return executor

  def clean_up_executor(self, cardinalities):
    pass


class ServiceTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.server = server_lib.Server(max_concurrent_clients=2)
    self.addCleanup(self.server.stop)
    self.channel = grpc.insecure_channel(self.server.address)
    self.stub = executor_pb2_grpc.ExecutorGroupStub(self.channel)
    self.tff_stub = tff.framework.RemoteExecutorGrpcStub(self.channel)

  def _call(self, computation, *args):
    """Runs a computation as TFF's own contexts do."""
    context = tff.framework.SyncExecutionContext(
      executor_fn=_Factory(self.tff_stub),
      compiler_fn=compiler.compile_computation,
      transform_args=tff.tensorflow.transform_args,
      transform_result=tff.tensorflow.transform_result,
    )
    former = tff.framework.get_context_stack().current
    tff.framework.set_default_context(context)
    self.addCleanup(tff.framework.set_default_context, former)
    return computation(*args)

  @property
  def _num_values(self):
    return self.server.service.executors.num_values

  def _assert_empties(self):
    """The driver forgets when Python collects: soon, not at once."""
    deadline = time.monotonic() + 10
    while self._num_values and time.monotonic() < deadline:
      time.sleep(0.02)
    self.assertEqual(self._num_values, 0)

  @parameterized.parameters(
    (np.int32, 3),
    (np.float32, 0.5),
    (np.bool_, True),
    (np.str_, 'text'),
    (tff.TensorType(np.str_, [2]), ['a', 'b']),
    (tff.TensorType(np.float32, [None]), [1.0, 2.0]),
    (tff.TensorType(np.float32, [0, 3]), np.zeros([0, 3], np.float32)),
    (tff.TensorType(np.uint8, [2, None]), np.uint8([[1], [255]])),
  )
  def test_tensors_go_there_and_back(self, value_type, value):
    identity = tff.tensorflow.computation(lambda x: tf.identity(x), value_type)
    found = self._call(identity, value)
    expected = tf.constant(value).numpy()
    self.assertEqual(np.asarray(found).dtype, np.asarray(expected).dtype)
    self.assertAllEqual(found, expected)

  def test_structs_and_sequences(self):
    @tff.tensorflow.computation(
      collections.OrderedDict(
        pair=(np.int32, np.float32),
        data=tff.SequenceType(collections.OrderedDict(_ELEMENT)),
      )
    )
    def describe(argument):
      return collections.OrderedDict(
        zero=argument['pair'][0],
        sums=argument['data'].map(lambda e: tf.reduce_sum(e['image'])),
        last=argument['data'].reduce(0, lambda _, e: e['label']),
        nested=[(argument['pair'][1],), ()],
      )

    data = tf.data.Dataset.from_tensors(
      collections.OrderedDict(image=np.uint8([[1, 2]]), label=np.int32(7))
    ).repeat(2)
    found = self._call(
      describe, collections.OrderedDict(pair=(5, 0.5), data=data)
    )
    self.assertEqual(found['zero'], 5)
    self.assertEqual(list(found['sums'].as_numpy_iterator()), [3, 3])
    self.assertEqual(found['last'], 7)
    self.assertEqual(found['nested'], [(0.5,), ()])

  def test_values_at_clients_and_server(self):
    @tff.federated_computation(_AT_SERVER, _AT_CLIENTS)
    def work(factor, values):
      products = tff.federated_map(
        tff.tensorflow.computation(lambda a, b: a * b),
        (values, tff.federated_broadcast(factor)),
      )
      return tff.federated_sum(products), products, factor

    self.assertEqual(self._call(work, 10, [1, 2, 3]), (60, [10, 20, 30], 10))

  def test_no_client_is_a_number_of_clients(self):
    @tff.federated_computation(_AT_CLIENTS)
    def add(values):
      return tff.federated_sum(values)

    self.assertEqual(self._call(add, []), 0)

  def test_no_parameter(self):
    self.assertEqual(self._call(tff.tensorflow.computation(lambda: 5)), 5)

  def test_struct_selection_and_call_by_hand(self):
    async def run():
      executor = tff.framework.RemoteExecutor(
        self.tff_stub, dispose_batch_size=1
      )
      executor.set_cardinalities({tff.CLIENTS: 0})
      one = await executor.create_value(1, tff.TensorType(np.int32))
      two = await executor.create_value(2, tff.TensorType(np.int32))
      both = await executor.create_struct(
        tff.structure.Struct([('one', one), ('two', two)])
      )
      self.assertEqual(str(both.type_signature), '<one=int32,two=int32>')
      selected = await executor.create_selection(both, 1)
      function = await executor.create_value(_double_positive)
      result = await (await executor.create_call(function, selected)).compute()
      self.assertEqual(self._num_values, 5)
      del one, two, both, selected, function
      self._assert_empties()
      kept = await executor.create_value(1, tff.TensorType(np.int32))
      self.assertEqual(self._num_values, 1)
      executor.close()
      self.assertEqual(self._num_values, 0)
      del kept
      return result

    self.assertEqual(asyncio.run(run()), 4)

  def test_calls_leave_nothing(self):
    for _ in range(3):
      self._call(_double_positive, 1)
    self._assert_empties()

  def test_error_names_client_and_computation(self):
    @tff.federated_computation(_AT_CLIENTS)
    def work(values):
      return tff.federated_map(_double_positive, values)

    with self.assertRaisesRegex(
      grpc.RpcError,
      r'(?s)INTERNAL.*Client 1 \(of 3, counted from 0\): TensorFlow code of'
      r' type \(int32 -> int32\).*Condition x > 0 did not hold',
    ):
      self._call(work, [1, -1, 1])
    # It goes on working.
    self.assertEqual(self._call(work, [1]), [2])

  def test_long_error_arrives(self):
    @tff.tensorflow.computation(np.int32)
    def fail(x):
      with tf.control_dependencies([tf.Assert(x > 0, ['é' * 20000])]):
        return tf.identity(x)

    with self.assertRaisesRegex(grpc.RpcError, 'TensorFlow code of type'):
      self._call(fail, -1)

  def test_argument_of_another_type_is_an_error(self):
    executor = self.stub.GetExecutor(executor_pb2.GetExecutorRequest()).executor

    def create(value, value_type=None):
      message, _ = tff.framework.serialize_value(value, value_type)
      return self.stub.CreateValue(
        executor_pb2.CreateValueRequest(executor=executor, value=message)
      ).value_ref

    with self.assertRaisesRegex(
      grpc.RpcError, 'float32. is not assignable to type .int32'
    ):
      self.stub.CreateCall(
        executor_pb2.CreateCallRequest(
          executor=executor,
          function_ref=create(_double_positive),
          argument_ref=create(1.0, tff.TensorType(np.float32)),
        )
      )
    with self.assertRaisesRegex(grpc.RpcError, "no value 'nothing'"):
      self.stub.Compute(
        executor_pb2.ComputeRequest(
          executor=executor, value_ref=executor_pb2.ValueRef(id='nothing')
        )
      )

  def test_unknown_executor_is_a_failed_precondition(self):
    with self.assertRaisesRegex(grpc.RpcError, 'no executor') as caught:
      self.stub.Compute(executor_pb2.ComputeRequest())
    self.assertIs(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)

  def test_driver_that_goes_away_in_a_call_leaves_nothing(self):
    started, may_end = threading.Event(), threading.Event()
    self.addCleanup(may_end.set)
    done = []

    def wait(number):
      started.set()
      may_end.wait(30)
      done.append(number)
      return number

    @tff.federated_computation(_AT_CLIENTS)
    def work(values):
      return tff.federated_map(
        tff.tensorflow.computation(
          lambda x: tf.ensure_shape(tf.py_function(wait, [x], tf.int32), []),
          np.int32,
        ),
        values,
      )

    request = executor_pb2.GetExecutorRequest(
      cardinalities=[executor_pb2.Cardinality(cardinality=9)]
    )
    request.cardinalities[0].placement.uri = tff.CLIENTS.uri
    executor = self.stub.GetExecutor(request).executor
    references = [
      self.stub.CreateValue(
        executor_pb2.CreateValueRequest(
          executor=executor,
          value=tff.framework.serialize_value(value, value_type)[0],
        )
      ).value_ref
      for value, value_type in (
        (compiler.compile_computation(work), None),
        (list(range(9)), _AT_CLIENTS),
      )
    ]
    call = self.stub.CreateCall.future(
      executor_pb2.CreateCallRequest(
        executor=executor,
        function_ref=references[0],
        argument_ref=references[1],
      )
    )
    self.assertTrue(started.wait(30))
    self.assertEqual(self._num_values, 2)
    call.cancel()
    self._assert_empties()
    may_end.set()
    # The two at work end, the other seven never begin.
    time.sleep(0.5)
    self.assertLessEqual(len(done), 2)


class ExecutorsTest(tf.test.TestCase):
  def test_idle_ones_are_dropped_and_those_at_work_are_not(self):
    held = executors.Executors()
    keys = [held.add(0, None) for _ in range(2)]
    for key in keys:
      with held.use(key) as executor:
        executor.add(tf.constant(1), tff.TensorType(np.int32))
    with held.use(keys[0]):
      time.sleep(0.05)
      held.drop_idle(100)
      self.assertEqual(held.num_values, 2)
      held.drop_idle(0.01)
      self.assertEqual(held.num_values, 1)
    time.sleep(0.05)
    held.drop_idle(0.01)
    self.assertEqual(held.num_values, 0)


class ServerTest(tf.test.TestCase):
  def test_idle_values_are_dropped(self):
    server = server_lib.Server(idle_seconds=0.2)
    self.addCleanup(server.stop)
    held = server.service.executors
    with held.use(held.add(0, None)) as executor:
      executor.add(tf.constant(1), tff.TensorType(np.int32))
    self.assertEqual(held.num_values, 1)
    deadline = time.monotonic() + 10
    while held.num_values and time.monotonic() < deadline:
      time.sleep(0.02)
    self.assertEqual(held.num_values, 0)

  def test_others_are_let_in_with_certificates_only(self):
    for host in ('0.0.0.0', '::', '192.0.2.1', 'example.org'):
      with self.assertRaisesRegex(ValueError, 'needs certificates'):
        server_lib.Server(host=host)

  def test_port_that_is_taken_is_an_error(self):
    with socket.create_server(('127.0.0.1', 0)) as taken:
      with self.assertRaisesRegex(OSError, 'cannot listen at 127.0.0.1'):
        server_lib.Server(taken.getsockname()[1])
    # Nor can two workers share one.
    server = server_lib.Server()
    self.addCleanup(server.stop)
    with self.assertRaisesRegex(OSError, 'cannot listen at 127.0.0.1'):
      server_lib.Server(int(server.address.split(':')[1]))


if __name__ == '__main__':
  tf.test.main()
