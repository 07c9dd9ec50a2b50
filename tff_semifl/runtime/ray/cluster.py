# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Connections to Ray clusters: a new local one, or an existing one."""

from collections.abc import Iterator
import contextlib
import os
import signal
import socket
import tempfile
import threading
import warnings

import ray

from tff_semifl.runtime import errors

_LOOPBACK = '127.0.0.1'
# The share of the object store for contents that later rounds need.
_KEPT_SHARE = 0.5
_CONNECT_SECONDS = 10


@contextlib.contextmanager
def connection(address: str | None) -> Iterator[None]:
  """Connects this process to a cluster, unless already connected.

  Without an address, a local cluster is started, which ends with the `with`
  block.
  """
  if ray.is_initialized():
    yield
    return
  with contextlib.ExitStack() as stack:
    if address is not None:
      check_address(address)
      options = {'address': address}
    else:
      # The folder's permissions protect sockets and logs from other users.
      folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='ray_'))
      options = {
        'address': 'local',
        'num_cpus': len(os.sched_getaffinity(0)),
        'include_dashboard': False,
        # The cluster accepts connections only on this interface.
        '_node_ip_address': _LOOPBACK,
        '_temp_dir': folder,
      }
    stack.callback(ray.shutdown)
    try:
      with _own_handler(signal.SIGTERM), warnings.catch_warnings():
        # Ray warns of future changes to its handling of GPUs.
        warnings.simplefilter('ignore', FutureWarning)
        ray.init(
          log_to_driver=False,
          configure_logging=False,
          logging_level='error',
          **options,
        )
    # Ray has no special error type for this.
    except Exception as error:
      lines = str(error).strip().splitlines() or [type(error).__name__]
      where = 'a cluster cannot be started' if address is None else address
      raise errors.WorkerError(f'{where}: {lines[0]}') from error
    yield


def check_address(address: str) -> None:
  """Checks that a server listens at host:port; Ray itself tries for minutes."""
  host, _, port = address.rpartition(':')
  if not host:
    return
  if host in ('localhost', _LOOPBACK):
    # Ray replaces a loopback address by another address of this machine.
    host = ray.util.get_node_ip_address()
  try:
    socket.create_connection((host, port), _CONNECT_SECONDS).close()
  except OSError as error:
    raise errors.WorkerError(
      f'no cluster is at {host}:{port}: {error.strerror or error}'
    ) from error


def max_kept_bytes() -> int:
  """Half the bytes of the smallest object store, for programs and data."""
  sizes = [
    node['Resources'].get('object_store_memory', 0)
    for node in ray.nodes()
    if node['Alive']
  ]
  return int(_KEPT_SHARE * min(sizes))


@contextlib.contextmanager
def _own_handler(number: int) -> Iterator[None]:
  """Restores a signal handler that the `with` block replaces."""
  if threading.current_thread() is not threading.main_thread():
    yield
    return
  handler = signal.getsignal(number)
  try:
    yield
  finally:
    signal.signal(number, handler)
