# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TFF's C++ runtime, in a worker process: the reference for other runtimes."""

from collections.abc import Iterator
import contextlib
import os
import socket
import subprocess
from typing import Any

import grpc
import tensorflow_federated as tff

from tff_semifl.runtime import compiler
from tff_semifl.runtime import errors
from tff_semifl.runtime import tied_process

_START_SECONDS = 60
# Just below 2 GiB, the limit of protocol buffers.
_MAX_MESSAGE_BYTES = 2 * 1000**3
_CHANNEL_OPTIONS = (
  ('grpc.max_receive_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.max_send_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.enable_http_proxy', 0),
)


class _NoClientsExecutor(tff.framework.RemoteExecutor):
  """An executor that returns values at zero clients, as empty lists."""

  def __init__(self, stub: tff.framework.RemoteExecutorStub):
    # Streaming returns the parts of structs one by one.
    super().__init__(stub, stream_structs=True)
    self._disposed = set()

  def _dispose(self, value_ref: Any, value_executor_id: Any) -> None:
    # TFF disposes of a struct again after it has returned the parts.
    if value_ref.id not in self._disposed:
      self._disposed.add(value_ref.id)
      super()._dispose(value_ref, value_executor_id)

  async def _compute(self, value_ref: Any, type_spec: tff.Type) -> Any:
    # The worker does not return all-equal values; TFF raises an error.
    if (
      isinstance(type_spec, tff.FederatedType)
      and type_spec.placement is tff.CLIENTS
      and not type_spec.all_equal
    ):
      return []
    return await super()._compute(value_ref, type_spec)


@contextlib.contextmanager
def connect(
  default_num_clients: int = 0, max_concurrent_clients: int | None = None
) -> Iterator[tff.framework.SyncContext]:
  """A context on a worker process, which ends with the `with` block.

  The worker listens on all network interfaces and runs any code that it
  receives: use it only where other users and the network are trusted.
  """
  binary = os.path.join(os.path.dirname(tff.__file__), 'data', 'worker_binary')
  limit = max_concurrent_clients or -1
  with socket.socket() as probe:
    probe.bind(('127.0.0.1', 0))
    port = probe.getsockname()[1]
  options = [f'--port={port}', f'--max_concurrent_computation_calls={limit}']
  process = subprocess.Popen(
    tied_process.tied_command([binary, *options]),
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    start_new_session=True,
  )
  try:
    channel = grpc.insecure_channel(f'127.0.0.1:{port}', _CHANNEL_OPTIONS)
    grpc.channel_ready_future(channel).result(_START_SECONDS)
    stub = tff.framework.RemoteExecutorGrpcStub(channel)

    # After a call fails because the worker died, TFF calls this without end.
    def create_executor(cardinalities):
      if process.poll() is not None:
        raise errors.WorkerError(
          f"TFF's worker has ended with status {process.returncode}"
        )
      num_clients = cardinalities.get(tff.CLIENTS, default_num_clients)
      executor = tff.framework.RemoteExecutor(stub)
      if not num_clients:
        executor = _NoClientsExecutor(stub)
      executor.set_cardinalities({tff.CLIENTS: num_clients})
      return executor

    yield tff.framework.SyncExecutionContext(
      executor_fn=tff.framework.ResourceManagingExecutorFactory(
        create_executor
      ),
      compiler_fn=compiler.compile_computation,
      transform_args=tff.tensorflow.transform_args,
      transform_result=tff.tensorflow.transform_result,
    )
  finally:
    process.kill()
    process.wait()
