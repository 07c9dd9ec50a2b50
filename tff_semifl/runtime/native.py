# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A TFF context on TFF's C++ runtime, in a worker process.

It computes what TFF computes, on the CPU: the reference for other runtimes.
"""

import collections
import threading
from typing import Any

import tensorflow_federated as tff

from tff_semifl.runtime import compiler
from tff_semifl.runtime import errors
from tff_semifl.runtime import no_clients
from tff_semifl.runtime import worker as worker_lib

# An executor keeps sessions for one number of clients, 200 MB for a network of
# ordinary size. A training loop needs up to three numbers: for a round, for an
# evaluation, and for the server alone.
_MAX_EXECUTORS = 3


class NativeContext(tff.framework.SyncContext):
  """Runs computations in a worker process, one call at a time."""

  def __init__(
    self, worker: worker_lib.Worker, *, default_num_clients: int = 0
  ):
    """Initializes the context."""
    self._context = tff.framework.SyncExecutionContext(
      executor_fn=_ExecutorFactory(worker, default_num_clients),
      compiler_fn=compiler.compile_computation,
      transform_args=tff.tensorflow.transform_args,
      transform_result=tff.tensorflow.transform_result,
    )
    # A running call must not lose its executor to one with another number of
    # clients.
    self._lock = threading.Lock()

  def invoke(self, comp: tff.framework.ConcreteComputation, arg: Any) -> Any:
    """Runs a computation; see `tff.framework.SyncExecutionContext`."""
    with self._lock:
      return self._context.invoke(comp, arg)


class _ExecutorFactory(tff.framework.ExecutorFactory):
  """Keeps the executors used last, and closes the others.

  TFF's own factory does not close executors, so that the worker grows with
  every new number of clients.
  """

  def __init__(self, worker, default_num_clients):
    self._stub = _Stub(worker)
    self._default_num_clients = default_num_clients
    self._executors = collections.OrderedDict()

  def create_executor(self, cardinalities):
    num_clients = cardinalities.get(tff.CLIENTS, self._default_num_clients)
    executor = self._executors.pop(num_clients, None)
    if executor is None:
      while len(self._executors) >= _MAX_EXECUTORS:
        self._executors.popitem(last=False)[1].close()
      executor_class = (
        tff.framework.RemoteExecutor
        if num_clients
        else no_clients.NoClientsExecutor
      )
      # Without this, values wait in a batch before the worker may free them.
      executor = executor_class(self._stub, dispose_batch_size=1)
      executor.set_cardinalities({tff.CLIENTS: num_clients})
    self._executors[num_clients] = executor
    return executor

  def clean_up_executor(self, cardinalities):
    num_clients = cardinalities.get(tff.CLIENTS, self._default_num_clients)
    executor = self._executors.pop(num_clients, None)
    if executor is not None:
      executor.close()


class _Stub(tff.framework.RemoteExecutorStub):
  """Reports a lost worker, which TFF would wait for without end."""

  def __init__(self, worker):
    self._worker = worker
    self._stub = tff.framework.RemoteExecutorGrpcStub(worker.channel)

  def _call(self, method, request):
    try:
      return method(request)
    except tff.framework.RetryableError as error:
      raise errors.WorkerError(self._worker.describe()) from error

  def _dispose(self, method, request):
    # A lost worker keeps nothing.
    return method(request) if self._worker.is_running else None

  def get_executor(self, request):
    return self._call(self._stub.get_executor, request)

  def create_value(self, request):
    return self._call(self._stub.create_value, request)

  def create_struct(self, request):
    return self._call(self._stub.create_struct, request)

  def create_call(self, request):
    return self._call(self._stub.create_call, request)

  def create_selection(self, request):
    return self._call(self._stub.create_selection, request)

  def compute(self, request):
    return self._call(self._stub.compute, request)

  def dispose(self, request):
    return self._dispose(self._stub.dispose, request)

  def dispose_executor(self, request):
    return self._dispose(self._stub.dispose_executor, request)
