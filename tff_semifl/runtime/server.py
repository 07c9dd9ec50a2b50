# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The server of a worker: a port with the executor service behind it.

Anybody who reaches the port can run any TensorFlow code, which reads and
writes files. Hence loopback, or certificates on both sides.
"""

from concurrent import futures
import threading

import grpc
from tensorflow_federated.proto.v0 import executor_pb2_grpc

from tff_semifl.runtime import client_pool
from tff_semifl.runtime import service as service_lib
from tff_semifl.runtime import tls as tls_lib

# Of these, each occupies a thread while its call runs; others wait.
_MAX_REQUESTS = 32
# A driver asks for something every few seconds, if it has values here: longer
# than to serialize the largest argument takes.
_IDLE_SECONDS = 600
# Just below 2 GiB, the limit of protocol buffers.
_MAX_MESSAGE_BYTES = 2 * 1000**3
_OPTIONS = (
  ('grpc.max_receive_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.max_send_message_length', _MAX_MESSAGE_BYTES),
  # Two processes could have the same port, and each half of the drivers.
  ('grpc.so_reuseport', 0),
  # Notices a driver whose machine vanished during a call.
  ('grpc.keepalive_time_ms', 60_000),
  ('grpc.keepalive_timeout_ms', 20_000),
)


class Server:
  """Serves the executor protocol until it is stopped.

  Attributes:
    address: Where, as host:port.
    service: What answers.
  """

  def __init__(
    self,
    port: int = 0,
    *,
    host: str = '127.0.0.1',
    tls: tls_lib.Tls | None = None,
    max_concurrent_clients: int | None = None,
    idle_seconds: float = _IDLE_SECONDS,
  ):
    """Starts to serve.

    Args:
      port: The port; 0 takes one that is free.
      host: The address of this machine to listen at; '0.0.0.0' for all.
      tls: Certificates. Drivers then need some, too.
      max_concurrent_clients: The number of clients that may work at the same
        time. By default as many as `client_pool.ClientPool` says.
      idle_seconds: How long values are kept for a driver that does not ask for
        anything.

    Raises:
      ValueError: The host is for others, too, and there is no certificate.
      OSError: The port is taken or the host not one of this machine.
    """
    if tls is None and not tls_lib.is_loopback(host):
      raise ValueError(
        f'{host} can be reached from other machines, whose users could run'
        ' any code here: that needs certificates'
      )
    self.service = service_lib.ExecutorService(
      client_pool.ClientPool(max_concurrent_clients)
    )
    self._server = grpc.server(
      futures.ThreadPoolExecutor(_MAX_REQUESTS, 'request'), options=_OPTIONS
    )
    executor_pb2_grpc.add_ExecutorGroupServicer_to_server(
      self.service, self._server
    )
    shown_host = f'[{host}]' if ':' in host else host
    address = f'{shown_host}:{port}'
    try:
      if tls is None:
        port = self._server.add_insecure_port(address)
      else:
        port = self._server.add_secure_port(
          address, tls.to_server_credentials()
        )
    except RuntimeError as error:
      raise OSError(f'cannot listen at {address}; is it taken?') from error
    self.address = f'{shown_host}:{port}'
    self._idle_seconds = idle_seconds
    self._is_stopped = threading.Event()
    self._server.start()
    threading.Thread(target=self._drop_idle, daemon=True).start()

  def stop(self) -> None:
    """Stops to serve. Running calls end when the client at work is done."""
    self._is_stopped.set()
    self.service.close()
    self._server.stop(grace=None).wait()

  def _drop_idle(self):
    while not self._is_stopped.wait(self._idle_seconds / 10):
      self.service.executors.drop_idle(self._idle_seconds)
