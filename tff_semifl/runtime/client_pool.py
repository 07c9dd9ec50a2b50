# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A pool of threads, and the devices that simulated clients run on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
import contextlib
from typing import Any

import tensorflow as tf


class ClientPool:
  """Threads for concurrent clients, assigned to `devices` round-robin.

  Client i works on device i modulo their number, the server on the first.
  """

  def __init__(
    self,
    max_concurrent_clients: int | None = None,
    devices: Sequence[str] | None = None,
  ):
    """Initializes the pool.

    Args:
      devices: Names as in `tf.config.list_logical_devices()`. By default all
        GPUs, or the CPU if there is none.
    """
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

  def map(
    self, fn: Callable[..., Any], *values: Iterable[Any]
  ) -> Iterator[Any]:
    """Like the built-in `map`, in the threads of the pool; keeps the order."""
    return (map if self._threads is None else self._threads.map)(fn, *values)

  def at_client(self, client: int) -> contextlib.AbstractContextManager[None]:
    """Places operations in the `with` block on the device of a client."""
    return tf.device(self.devices[client % len(self.devices)])

  def at_server(self) -> contextlib.AbstractContextManager[None]:
    """Places operations in the `with` block on the device of the server."""
    return self.at_client(0)

  def close(self, *, wait: bool = True) -> None:
    """Ends the threads.

    Args:
      wait: Whether to finish the submitted work first; otherwise, work that
        has not begun is cancelled.
    """
    if self._threads is not None:
      self._threads.shutdown(wait=wait, cancel_futures=not wait)
