# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The clients of one call of a computation, their threads and devices."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
import contextlib
from typing import Any

import tensorflow as tf

from tff_semifl.runtime import errors
from tff_semifl.runtime import limited_functions
from tff_semifl.runtime import values


def grow_gpu_memory() -> None:
  """Lets TensorFlow take a GPU's memory as needed, instead of all at once.

  This has no effect after TensorFlow's first operation.
  """
  for gpu in tf.config.list_physical_devices('GPU'):
    # TensorFlow refuses if the GPU is in use, or if a program has divided it.
    with contextlib.suppress(RuntimeError, ValueError):
      tf.config.experimental.set_memory_growth(gpu, True)


class ClientPool:
  """Threads for concurrent clients, and the devices of clients and server.

  Client i works on device i modulo the number of devices. The server works on
  the first device.
  """

  def __init__(
    self,
    max_concurrent_clients: int | None = None,
    devices: Sequence[str] | None = None,
  ):
    grow_gpu_memory()
    known = [device.name for device in tf.config.list_logical_devices()]
    if devices is None:
      devices = [name for name in known if ':GPU:' in name] or known[:1]
    if not devices or not set(devices) <= set(known):
      raise ValueError(
        f'Expected `devices` to be some of {known}, found {list(devices)}.'
      )
    if max_concurrent_clients is None:
      max_concurrent_clients = len(devices)
    if max_concurrent_clients < 1:
      raise ValueError(
        'Expected `max_concurrent_clients` >= 1, found '
        f'{max_concurrent_clients}.'
      )
    self.devices = tuple(devices)
    self._threads = (
      futures.ThreadPoolExecutor(max_concurrent_clients, 'client')
      if max_concurrent_clients > 1
      else None
    )

  def map(self, fn: Callable[[int], Any], clients: Iterable[int]) -> Iterator:
    """Applies a function in the threads of the pool; results keep the order."""
    return (map if self._threads is None else self._threads.map)(fn, clients)

  def at_client(self, client: int) -> contextlib.AbstractContextManager[None]:
    """Places operations in the `with` block on the device of a client."""
    return tf.device(self.devices[client % len(self.devices)])

  def at_server(self) -> contextlib.AbstractContextManager[None]:
    """Places operations in the `with` block on the device of the server."""
    return tf.device(self.devices[0])

  def close(self, *, wait: bool = True) -> None:
    """Ends the threads; without `wait`, cancels work that has not begun."""
    if self._threads is not None:
      self._threads.shutdown(wait=wait, cancel_futures=not wait)


class Cohort:
  """The clients of a call, or one of them alone, and their pool of threads."""

  def __init__(self, total: int, pool: ClientPool, client: int | None = None):
    self.clients = range(total) if client is None else (client,)
    # Clients that dropped out, whose values are None.
    self.absent: set[int] = set()
    self._total = total
    self._pool = pool

  def present(self) -> list[int]:
    """The clients that have not dropped out."""
    return [each for each in self.clients if each not in self.absent]

  def map(self, fn: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    """Applies a function to each client's value, in the current thread."""
    if isinstance(fn, limited_functions.LimitedFunction):
      fn = fn.run_at_client
    return tuple(
      self.run_for(client, fn, member)
      for client, member in zip(self.clients, self.members(value), strict=True)
    )

  def run_each(self, fn: Callable[[int, 'Cohort'], Any]) -> Iterator[Any]:
    """Yields `fn(client, cohort of this client)` for each client, in order.

    All clients are scheduled at the first `next()`. Each thread of the pool
    runs one client at a time.
    """

    def run(client):
      with self._pool.at_client(client):
        return fn(client, Cohort(self._total, self._pool, client))

    yield from self._pool.map(run, self.clients)

  def members(self, value: Any) -> tuple[Any, ...]:
    """The values of all clients, as a tuple."""
    if isinstance(value, values.AllEqual):
      return (value.member,) * len(self.clients)
    return value

  def run_for(self, client: int, fn: Callable[[Any], Any], value: Any) -> Any:
    """Applies a function; the message of an error names the client."""
    try:
      return fn(value)
    except Exception as error:
      raise errors.ComputationError(
        self.name_client(client, str(error))
      ) from errors.reason(error)

  def name_client(self, client: int, message: str) -> str:
    """An error message that names the client."""
    return f'Client {client} (of {self._total}, counted from 0): {message}'
