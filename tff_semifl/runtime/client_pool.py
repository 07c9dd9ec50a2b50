# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The threads and devices that the work of clients is shared out among."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
import contextlib
from typing import Any

import tensorflow as tf


class ClientPool:
  """Some threads, and the devices that clients use in turn.

  Client i works on device i modulo their number, the server on the first.

  Attributes:
    devices: The names of the devices.
  """

  def __init__(
    self,
    max_concurrent_clients: int | None = None,
    devices: Sequence[str] | None = None,
  ):
    """Initializes the pool.

    Args:
      max_concurrent_clients: The number of clients that may work at the same
        time, in as many threads. By default one for each device.
      devices: Names as in `tf.config.list_logical_devices()`. By default all
        GPUs, or the CPU if there is none.

    Raises:
      ValueError: The number is not positive, or there is no such device.
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
    """Does what `map` does; the threads share the calls out among them."""
    # The results of both come in order, whatever the order of the work.
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
      wait: Whether to wait for the work that has been given to them; if not,
        what has not begun never will.
    """
    if self._threads is not None:
      self._threads.shutdown(wait=wait, cancel_futures=not wait)
