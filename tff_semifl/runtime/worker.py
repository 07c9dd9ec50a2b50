# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TFF's worker process, under the control of this process.

TFF starts the same program for its own contexts, but lets it share stdout and
outlive this process. This worker has its own session and log file, and the
kernel ends it with this process.

The worker listens on all network interfaces and runs whatever it is sent: use
it only where other users and the network are trusted.
"""

import atexit
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import grpc
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import tied_process

_START_SECONDS = 60
_STOP_SECONDS = 5
_LAST_MOMENT_SECONDS = 1
# Just below 2 GiB, the limit of protocol buffers.
_MAX_MESSAGE_BYTES = 2 * 1000**3
_CHANNEL_OPTIONS = (
  ('grpc.max_receive_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.max_send_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.enable_http_proxy', 0),
)


class Worker:
  """A worker process, until `close` or the end of this thread or process.

  Attributes:
    address: The address of the worker, as host:port.
    channel: The gRPC channel to the worker, ready for use.
    log_file: The worker's log.
  """

  def __init__(
    self,
    *,
    max_concurrent_computation_calls: int = -1,
    log_file: str | os.PathLike[str] | None = None,
  ):
    """Starts the worker and waits until it answers."""
    self._temporary_directory = None
    if log_file is None:
      self._temporary_directory = tempfile.mkdtemp(prefix='tff_worker_')
      log_file = os.path.join(self._temporary_directory, 'worker.log')
    self.log_file = pathlib.Path(log_file)
    port = _unused_port()
    binary = os.path.join(
      os.path.dirname(tff.__file__), 'data', 'worker_binary'
    )
    with open(self.log_file, 'ab') as log:
      self._process = subprocess.Popen(
        tied_process.tied_command(
          [
            binary,
            f'--port={port}',
            '--max_concurrent_computation_calls='
            f'{max_concurrent_computation_calls}',
          ]
        ),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
      )
    atexit.register(self.close)
    self.address = f'127.0.0.1:{port}'
    self.channel = grpc.insecure_channel(self.address, _CHANNEL_OPTIONS)
    try:
      self._wait_until_ready()
    except BaseException:
      self._stop()
      raise

  @property
  def pid(self) -> int:
    """The id of the process."""
    return self._process.pid

  @property
  def is_running(self) -> bool:
    """Whether the process is running."""
    return self._process.poll() is None

  def close(self) -> None:
    """Ends the worker, and removes its temporary log unless it had failed."""
    failed = not self.is_running
    self._stop()
    if self._temporary_directory is not None and not failed:
      shutil.rmtree(self._temporary_directory, ignore_errors=True)

  def describe(self) -> str:
    """The state of the worker and the end of its log, as text."""
    # Connections break a moment before the process ends.
    with contextlib.suppress(subprocess.TimeoutExpired):
      self._process.wait(_LAST_MOMENT_SECONDS)
    status = self._process.poll()
    state = 'is running' if status is None else f'ended with status {status}'
    log = ''
    if self.log_file.exists():
      log = self.log_file.read_text(errors='replace')[-1000:]
    return (
      f'The worker (process {self.pid}) {state}. The end of its log '
      f'{self.log_file}:\n{log}'
    )

  def _stop(self):
    atexit.unregister(self.close)
    # Closing the channel while TFF's stub listens to its state would sometimes
    # end the listening thread with a traceback; it is left to be collected.
    self._process.terminate()
    try:
      self._process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
      self._process.kill()
      self._process.wait()

  def _wait_until_ready(self):
    ready = grpc.channel_ready_future(self.channel)
    deadline = time.monotonic() + _START_SECONDS
    while True:
      try:
        ready.result(timeout=0.1)
        return
      except grpc.FutureTimeoutError:
        if not self.is_running or time.monotonic() > deadline:
          ready.cancel()
          raise errors.WorkerError(
            f'The worker did not start. {self.describe()}'
          ) from None


def _unused_port() -> int:
  with socket.socket() as probe:
    probe.bind(('127.0.0.1', 0))
    return probe.getsockname()[1]
