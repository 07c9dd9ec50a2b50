# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: N802 (the protocol has names of its own for methods)

"""TFF's executor protocol, with the TensorFlow of this process behind it.

A driver asks for an executor for a number of clients, creates values in it,
calls functions with them and asks for results: what TFF's own worker does, but
on the devices of this process. See `executor.proto` of TFF for the protocol.
"""

import collections
import hashlib
import threading

from absl import logging
import grpc
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import executor_pb2
from tensorflow_federated.proto.v0 import executor_pb2_grpc

from tff_semifl.runtime import client_pool
from tff_semifl.runtime import errors
from tff_semifl.runtime import executors
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import leaves
from tff_semifl.runtime import wire

# A training loop has a handful of computations; a worker may serve a few.
_MAX_COMPUTATIONS = 32
# A message of an error travels in a header, in which three characters may
# stand for a byte, and for which gRPC has 8 kB.
_MAX_ERROR_BYTES = 2000


class ExecutorService(executor_pb2_grpc.ExecutorGroupServicer):
  """Answers the requests of drivers.

  A call runs while its `CreateCall` is answered.

  Attributes:
    executors: What is kept for drivers.
  """

  def __init__(self, pool: client_pool.ClientPool):
    """Initializes the service.

    Args:
      pool: Where clients work.
    """
    self.executors = executors.Executors()
    self._pool = pool
    self._leaves = leaves.LeafCache()
    self._computations = collections.OrderedDict()
    self._lock = threading.RLock()

  def close(self) -> None:
    """Drops all values; calls end as soon as the client at work is done."""
    self.executors.drop_all()
    self._pool.close(wait=False)

  def GetExecutor(
    self,
    request: executor_pb2.GetExecutorRequest,
    context: grpc.ServicerContext,
  ) -> executor_pb2.GetExecutorResponse:
    """Makes an executor for a number of clients."""
    del context
    num_clients = 0
    for cardinality in request.cardinalities:
      if cardinality.placement.uri == tff.CLIENTS.uri:
        num_clients = cardinality.cardinality
    key = self.executors.add(num_clients, self._pool)
    return executor_pb2.GetExecutorResponse(
      executor=executor_pb2.ExecutorId(id=key)
    )

  def CreateValue(
    self,
    request: executor_pb2.CreateValueRequest,
    context: grpc.ServicerContext,
  ) -> executor_pb2.CreateValueResponse:
    """Keeps a value that the driver sends."""

    def run(executor):
      def decode_computation(computation):
        evaluate, computation_type = self._build(computation)
        scope = interpreter.Scope(executor.cohort, {})
        return evaluate(scope), computation_type

      return executor.add(
        *wire.decode(request.value, decode_computation=decode_computation)
      )

    return executor_pb2.CreateValueResponse(
      value_ref=self._answer(request, context, run)
    )

  def CreateCall(
    self,
    request: executor_pb2.CreateCallRequest,
    context: grpc.ServicerContext,
  ) -> executor_pb2.CreateCallResponse:
    """Calls a function and keeps the result."""

    def run(executor):
      function, function_type = executor.get(request.function_ref)
      argument = None
      if request.HasField('argument_ref'):
        argument, argument_type = executor.get(request.argument_ref)
        function_type.parameter.check_assignable_from(argument_type)
      with self._pool.at_server():
        result = function(argument)
      return executor.add(result, function_type.result)

    return executor_pb2.CreateCallResponse(
      value_ref=self._answer(request, context, run)
    )

  def CreateStruct(
    self,
    request: executor_pb2.CreateStructRequest,
    context: grpc.ServicerContext,
  ) -> executor_pb2.CreateStructResponse:
    """Puts values together."""

    def run(executor):
      parts, types = [], []
      for element in request.element:
        part, part_type = executor.get(element.value_ref)
        parts.append(part)
        types.append((element.name, part_type) if element.name else part_type)
      return executor.add(parts, tff.StructType(types))

    return executor_pb2.CreateStructResponse(
      value_ref=self._answer(request, context, run)
    )

  def CreateSelection(
    self,
    request: executor_pb2.CreateSelectionRequest,
    context: grpc.ServicerContext,
  ) -> executor_pb2.CreateSelectionResponse:
    """Takes one value out of several."""

    def run(executor):
      source, source_type = executor.get(request.source_ref)
      index = request.index
      return executor.add(source[index], source_type[index])

    return executor_pb2.CreateSelectionResponse(
      value_ref=self._answer(request, context, run)
    )

  def Compute(
    self, request: executor_pb2.ComputeRequest, context: grpc.ServicerContext
  ) -> executor_pb2.ComputeResponse:
    """Sends a value to the driver."""
    return executor_pb2.ComputeResponse(
      value=self._answer(
        request,
        context,
        lambda executor: wire.encode(*executor.get(request.value_ref)),
      )
    )

  def Dispose(
    self, request: executor_pb2.DisposeRequest, context: grpc.ServicerContext
  ) -> executor_pb2.DisposeResponse:
    """Forgets values."""

    def run(executor):
      for reference in request.value_ref:
        executor.values.pop(reference.id, None)

    self._answer(request, context, run)
    return executor_pb2.DisposeResponse()

  def DisposeExecutor(
    self,
    request: executor_pb2.DisposeExecutorRequest,
    context: grpc.ServicerContext,
  ) -> executor_pb2.DisposeExecutorResponse:
    """Forgets an executor and all its values."""
    del context
    self.executors.drop(request.executor.id)
    return executor_pb2.DisposeExecutorResponse()

  def _answer(self, request, context, run):
    """Runs a request on its executor; turns errors into those of gRPC."""
    key = request.executor.id
    is_done = threading.Event()
    # Also called when all went well.
    if not context.add_callback(
      lambda: is_done.is_set() or self.executors.drop(key)
    ):
      self.executors.drop(key)
    try:
      with self.executors.use(key) as executor:
        return run(executor)
    except executors.UnknownExecutorError as error:
      # For TFF's own drivers this code means: make a new one.
      code, message = grpc.StatusCode.FAILED_PRECONDITION, str(error)
    except executors.AbandonedError:
      code, message = grpc.StatusCode.CANCELLED, 'The driver has gone away.'
    except errors.ComputationError as error:
      code, message = grpc.StatusCode.INTERNAL, str(error)
    except Exception as error:
      code = grpc.StatusCode.INVALID_ARGUMENT
      message = f'{type(error).__name__}: {error}'
    finally:
      is_done.set()
    logging.info('%s: %s', type(request).__name__, message)
    return context.abort(
      code, message.encode()[:_MAX_ERROR_BYTES].decode(errors='ignore')
    )

  def _build(self, computation):
    """Returns a computation as a function of a scope, and its type."""
    key = hashlib.sha256(
      computation.SerializeToString(deterministic=True)
    ).digest()
    with self._lock:
      if key in self._computations:
        self._computations.move_to_end(key)
        return self._computations[key]
      block = tff.framework.ComputationBuildingBlock.from_proto(computation)
      built = (
        interpreter.build_evaluate(block, self._leaves),
        block.type_signature,
      )
      self._computations[key] = built
      while len(self._computations) > _MAX_COMPUTATIONS:
        self._computations.popitem(last=False)
      return built
