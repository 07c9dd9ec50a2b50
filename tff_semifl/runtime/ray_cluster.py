# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A Ray cluster: one of this program alone, or one that is there already."""

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
# Of an object store, for what later rounds need again.
_KEPT_SHARE = 0.5
_CONNECT_SECONDS = 10


@contextlib.contextmanager
def connection(address: str | None) -> Iterator[None]:
  """Connects this process to a cluster in the `with` block.

  A process that is connected already stays with the cluster that it has.

  Args:
    address: The cluster, as host:port, or 'auto' for the one that this machine
      belongs to. By default a cluster of this program alone is started, which
      ends with the block.

  Raises:
    errors.WorkerError: The cluster cannot be reached, or not be started.
  """
  if ray.is_initialized():
    yield
    return
  with contextlib.ExitStack() as stack:
    if address is not None:
      check_address(address)
      options = {'address': address}
    else:
      # Its sockets and logs are for this user alone.
      folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='ray_'))
      options = {
        'address': 'local',
        'num_cpus': len(os.sched_getaffinity(0)),
        'include_dashboard': False,
        # It listens there and nowhere else.
        '_node_ip_address': _LOOPBACK,
        '_temp_dir': folder,
      }
    stack.callback(ray.shutdown)
    try:
      with _own_handler(signal.SIGTERM), warnings.catch_warnings():
        # On what later releases will do with GPUs.
        warnings.simplefilter('ignore', FutureWarning)
        ray.init(
          log_to_driver=False,
          configure_logging=False,
          logging_level='error',
          **options,
        )
    # It has no type of error of its own for this.
    except Exception as error:
      lines = str(error).strip().splitlines() or [type(error).__name__]
      where = 'a cluster cannot be started' if address is None else address
      raise errors.WorkerError(f'{where}: {lines[0]}') from error
    yield


def check_address(address: str) -> None:
  """Checks that somebody is there: Ray would try for five minutes.

  Args:
    address: As host:port; one that Ray itself is to find is not checked.

  Raises:
    errors.WorkerError: Nobody is there.
  """
  host, _, port = address.rpartition(':')
  if not host:  # Found by Ray itself.
    return
  if host in ('localhost', _LOOPBACK):
    # Ray takes that for any of this machine's addresses but this one.
    host = ray.util.get_node_ip_address()
  try:
    socket.create_connection((host, port), _CONNECT_SECONDS).close()
  except OSError as error:
    raise errors.WorkerError(
      f'no cluster is at {host}:{port}: {error.strerror or error}'
    ) from error


def max_kept_bytes() -> int:
  """Returns how much may be kept in the object store of each machine."""
  sizes = [
    node['Resources'].get('object_store_memory', 0)
    for node in ray.nodes()
    if node['Alive']
  ]
  return int(_KEPT_SHARE * min(sizes))


@contextlib.contextmanager
def _own_handler(number: int) -> Iterator[None]:
  """Keeps the handler of a signal, which Ray takes for itself."""
  if threading.current_thread() is not threading.main_thread():
    yield
    return
  handler = signal.getsignal(number)
  try:
    yield
  finally:
    signal.signal(number, handler)
