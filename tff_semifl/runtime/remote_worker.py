# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A worker on another machine, as its driver sees it.

Speaks TFF's executor protocol, and watches: a worker that is lost fails a call
with `WorkerError`, whatever has become of it. TFF's own stub would ask a worker
that is gone again and again, and wait for one that hangs, both for ever.
"""

import collections
import contextlib
import threading
from typing import Any

import grpc
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2
from tensorflow_federated.proto.v0 import executor_pb2
from tensorflow_federated.proto.v0 import executor_pb2_grpc

from tff_semifl.runtime import errors
from tff_semifl.runtime import tls as tls_lib

# Just below 2 GiB, the limit of protocol buffers.
_MAX_MESSAGE_BYTES = 2 * 1000**3
_CHANNEL_OPTIONS = (
  ('grpc.max_receive_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.max_send_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.enable_http_proxy', 0),
  # One that was started anew is found soon.
  ('grpc.initial_reconnect_backoff_ms', 200),
  ('grpc.min_reconnect_backoff_ms', 1000),
  ('grpc.max_reconnect_backoff_ms', 2000),
  # Workers of one process each have a connection of their own.
  ('grpc.use_local_subchannel_pool', 1),
)
# The health check of gRPC. Neither our worker nor TFF's knows it, but to say so
# is an answer, and one that needs no free thread. The pings of gRPC's keepalive
# would not do: in a call of 40 seconds TFF's worker closes the connection for
# "too many pings", if they come every ten seconds.
_HEALTH_METHOD = '/grpc.health.v1.Health/Check'
# What a worker that is gone, or hangs, makes of a request.
_LOST_CODES = (
  grpc.StatusCode.UNAVAILABLE,
  grpc.StatusCode.CANCELLED,
  grpc.StatusCode.DEADLINE_EXCEEDED,
)
# TFF's worker keeps sessions for each executor; see `native`.
_MAX_EXECUTORS = 3
# How long a worker may take to forget something, or it is left to it.
_DISPOSE_SECONDS = 1


class _ForgottenError(Exception):
  """Raised if a worker was started anew, or dropped our values."""


class RemoteWorker:
  """A connection to a worker. One thread at a time may call.

  Attributes:
    address: Where the worker is, as host:port.
  """

  def __init__(
    self,
    address: str,
    *,
    tls: tls_lib.Tls | None = None,
    silence_seconds: float = 60,
    call_seconds: float | None = None,
  ):
    """Prepares the connection; nothing is sent yet.

    Args:
      address: Where the worker is, as host:port.
      tls: Certificates, if the worker wants them.
      silence_seconds: A worker that answers nothing for so long is lost.
      call_seconds: A worker that needs longer than this for one request is
        lost, even if it answers others.
    """
    self.address = address
    if tls is None:
      self._channel = grpc.insecure_channel(address, _CHANNEL_OPTIONS)
    else:
      self._channel = grpc.secure_channel(
        address, tls.to_channel_credentials(), _CHANNEL_OPTIONS
      )
    self._stub = executor_pb2_grpc.ExecutorGroupStub(self._channel)
    self._ask_health = self._channel.unary_unary(_HEALTH_METHOD)
    self._silence_seconds = silence_seconds
    self._call_seconds = call_seconds
    self._is_closed = threading.Event()
    self._executors = collections.OrderedDict()
    self._unwatched = collections.deque(maxlen=2 * _MAX_EXECUTORS)

  def close(self) -> None:
    """Ends the connection, and with it a call that another thread is in."""
    if not self._is_closed.is_set():
      self._is_closed.set()
      for executor in list(self._executors.values()):
        self._dispose_executor(executor)
      for future in list(self._unwatched):
        with contextlib.suppress(grpc.RpcError, grpc.FutureCancelledError):
          future.result()
      self._channel.close()

  def check(self, seconds: float | None = None) -> None:
    """Asks for a sign of life.

    Args:
      seconds: How long to wait for it.

    Raises:
      errors.WorkerError: There was none.
    """
    if self._is_closed.is_set():
      raise self._error('the connection was closed')
    seconds = seconds or self._silence_seconds
    try:
      self._ask_health(b'', timeout=seconds)
    except ValueError as error:  # Closed by another thread at this moment.
      raise self._error('the connection was closed') from error
    except grpc.RpcError as error:
      if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        raise self._error(f'no answer for {seconds:g} seconds') from error
      if error.code() in _LOST_CODES:
        raise self._error(error.details()) from error

  def call(
    self,
    computation: computation_pb2.Computation,
    argument: executor_pb2.Value | None,
    num_clients: int,
  ) -> executor_pb2.Value:
    """Runs a computation on the worker.

    Args:
      computation: The computation, in the form that workers run.
      argument: Its argument; `None` if it has no parameter.
      num_clients: The number of clients.

    Returns:
      The result.

    Raises:
      errors.WorkerError: The worker is lost.
      errors.ComputationError: The computation failed.
    """
    try:
      try:
        return self._call(computation, argument, num_clients)
      except _ForgottenError:
        self._executors.clear()
        return self._call(computation, argument, num_clients)
    except _ForgottenError as error:
      self._executors.clear()
      raise self._error(str(error)) from error
    except errors.WorkerError:
      self._executors.clear()
      raise

  def _call(self, computation, argument, num_clients):
    executor = self._executor(num_clients)
    references = []

    def create(value):
      reference = self._ask(
        self._stub.CreateValue,
        executor_pb2.CreateValueRequest(executor=executor, value=value),
      ).value_ref
      references.append(reference)
      return reference

    try:
      result = self._ask(
        self._stub.CreateCall,
        executor_pb2.CreateCallRequest(
          executor=executor,
          function_ref=create(executor_pb2.Value(computation=computation)),
          argument_ref=None if argument is None else create(argument),
        ),
      ).value_ref
      references.append(result)
      return self._ask(
        self._stub.Compute,
        executor_pb2.ComputeRequest(executor=executor, value_ref=result),
      ).value
    except errors.ComputationError:
      # TFF's own contexts do not go on with an executor after an error, either.
      self._dispose_executor(self._executors.pop(num_clients))
      raise
    finally:
      if num_clients in self._executors:
        self._ask_in_vain(
          self._stub.Dispose,
          executor_pb2.DisposeRequest(executor=executor, value_ref=references),
        )

  def _executor(self, num_clients):
    """Returns an executor for so many clients, one of those used last."""
    executor = self._executors.pop(num_clients, None)
    if executor is None:
      while len(self._executors) >= _MAX_EXECUTORS:
        self._dispose_executor(self._executors.popitem(last=False)[1])
      cardinality = executor_pb2.Cardinality(
        placement=computation_pb2.Placement(uri=tff.CLIENTS.uri),
        cardinality=num_clients,
      )
      executor = self._ask(
        self._stub.GetExecutor,
        executor_pb2.GetExecutorRequest(cardinalities=[cardinality]),
      ).executor
    self._executors[num_clients] = executor
    return executor

  def _dispose_executor(self, executor):
    self._ask_in_vain(
      self._stub.DisposeExecutor,
      executor_pb2.DisposeExecutorRequest(executor=executor),
    )

  def _ask_in_vain(self, method, request):
    """Sends a request whose answer and whose success are of no interest."""
    with contextlib.suppress(ValueError):  # The connection was closed.
      # To forget the future would be to cancel the request.
      self._unwatched.append(method.future(request, timeout=_DISPOSE_SECONDS))

  def _ask(self, method, request) -> Any:
    """Sends a request and waits for the answer, as long as there are signs."""
    if self._is_closed.is_set():
      raise self._error('the connection was closed')
    try:
      future = method.future(request, timeout=self._call_seconds)
    except ValueError as error:  # Closed by another thread at this moment.
      raise self._error('the connection was closed') from error
    try:
      while True:
        try:
          return future.result(self._silence_seconds / 2)
        except grpc.FutureTimeoutError:
          self.check(self._silence_seconds / 2)
    except grpc.FutureCancelledError as error:
      raise self._error('the connection was closed') from error
    except grpc.RpcError as error:
      raise self._translate(error) from error
    finally:
      future.cancel()  # Does nothing to one that is done.

  def _translate(self, error):
    """Returns the error of ours that stands for one of gRPC."""
    if self._is_closed.is_set():
      return self._error('the connection was closed')
    if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
      return _ForgottenError(error.details())
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
      return self._error(f'a call took more than {self._call_seconds} seconds')
    if error.code() in _LOST_CODES:
      return self._error(error.details())
    return errors.ComputationError(
      f'On the worker {self.address}: {error.details()}'
    )

  def _error(self, why):
    return errors.WorkerError(f'worker {self.address}: {why}')
