# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The executors that a worker keeps for its drivers.

An executor is the values of one driver for one number of clients. It goes when
its driver says so, when the driver goes away during a request, or when nothing
was asked of it for long.
"""

from collections.abc import Callable, Iterator
import contextlib
import itertools
import threading
import time
from typing import Any
import uuid

import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import executor_pb2

from tff_semifl.runtime import client_pool
from tff_semifl.runtime import cohorts


class AbandonedError(Exception):
  """Raised if nobody waits for the result any more."""


class _Cohort(cohorts.Cohort):
  """Clients whose driver may go away in the midst of their work.

  Attributes:
    is_wanted: Whether there is still a driver.
  """

  def __init__(self, size: int, pool: client_pool.ClientPool):
    super().__init__(size, pool)
    self.is_wanted = True

  def run_for(self, client: int, fn: Callable[[Any], Any], value: Any) -> Any:
    if not self.is_wanted:
      raise AbandonedError
    return super().run_for(client, fn, value)


class UnknownExecutorError(Exception):
  """Raised if there is no such executor, or no longer."""


class Executor:
  """The values of one driver for one number of clients.

  Attributes:
    cohort: The clients.
    values: Value and type by reference.
    num_running: The number of requests that are being answered.
    last_used: When the last one was, by `time.monotonic`.
  """

  def __init__(self, cohort: _Cohort):
    self.cohort = cohort
    self.values: dict[str, tuple[Any, tff.Type]] = {}
    self.num_running = 0
    self.last_used = time.monotonic()
    self._references = itertools.count()

  def add(self, value: Any, value_type: tff.Type) -> executor_pb2.ValueRef:
    """Keeps a value and returns its reference."""
    reference = str(next(self._references))
    self.values[reference] = value, value_type
    return executor_pb2.ValueRef(id=reference)

  def get(self, reference: executor_pb2.ValueRef) -> tuple[Any, tff.Type]:
    """Returns a value and its type."""
    if reference.id not in self.values:
      raise ValueError(f'There is no value {reference.id!r}.')
    return self.values[reference.id]


class Executors:
  """The executors of a worker, by the keys that drivers know them by."""

  def __init__(self):
    self._executors: dict[str, Executor] = {}
    self._lock = threading.Lock()

  @property
  def num_values(self) -> int:
    """The number of values in all of them."""
    with self._lock:
      return sum(len(each.values) for each in self._executors.values())

  def add(self, num_clients: int, pool: client_pool.ClientPool) -> str:
    """Makes an executor.

    Args:
      num_clients: The number of clients.
      pool: Where these work.

    Returns:
      Its key.
    """
    key = uuid.uuid4().hex
    with self._lock:
      self._executors[key] = Executor(_Cohort(num_clients, pool))
    return key

  @contextlib.contextmanager
  def use(self, key: str) -> Iterator[Executor]:
    """Gives an executor to a request, which keeps it from being idle.

    Args:
      key: Its key.

    Yields:
      The executor.

    Raises:
      UnknownExecutorError: There is none.
    """
    with self._lock:
      if key not in self._executors:
        raise UnknownExecutorError(f'There is no executor {key!r}.')
      executor = self._executors[key]
      executor.num_running += 1
    try:
      yield executor
    finally:
      with self._lock:
        executor.num_running -= 1
        executor.last_used = time.monotonic()

  def drop(self, key: str) -> None:
    """Forgets an executor, if there is one. Its clients stop to work."""
    with self._lock:
      executor = self._executors.pop(key, None)
    if executor is not None:
      executor.cohort.is_wanted = False

  def drop_idle(self, seconds: float) -> None:
    """Forgets all for which nothing was asked for so many seconds."""
    oldest = time.monotonic() - seconds
    with self._lock:
      idle = [
        key
        for key, executor in self._executors.items()
        if not executor.num_running and executor.last_used < oldest
      ]
    for key in idle:
      self.drop(key)

  def drop_all(self) -> None:
    """Forgets all."""
    with self._lock:
      keys = list(self._executors)
    for key in keys:
      self.drop(key)
