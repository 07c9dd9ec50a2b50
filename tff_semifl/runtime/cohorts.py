# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The clients of one call of a computation."""

from collections.abc import Callable, Iterator
from typing import Any

from tff_semifl.runtime import client_pool
from tff_semifl.runtime import errors
from tff_semifl.runtime import limited_leaves
from tff_semifl.runtime import values


class Cohort:
  """The clients of one call, and the pool that they work in.

  Attributes:
    size: The number of clients.
    absent: Indices of the clients that dropped out, whose values are None.
  """

  def __init__(self, size: int, pool: client_pool.ClientPool):
    """Initializes a cohort of `size` clients that work in `pool`."""
    self.size = size
    self.absent: set[int] = set()
    self._pool = pool

  def present(self) -> list[int]:
    """The indices of the clients that have not dropped out."""
    return [each for each in range(self.size) if each not in self.absent]

  def map(self, fn: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    """The results of a function for each client's part of a value, in order."""
    fn = _at_client(fn)

    def run(client, member):
      with self._pool.at_client(client):
        return self.run_for(client, fn, member)

    return tuple(self._pool.map(run, range(self.size), self.members(value)))

  def run_each(self, fn: Callable[[int, 'Cohort'], Any]) -> Iterator[Any]:
    """The results of a function of each client and a cohort of it alone.

    All clients begin when the first result is asked for, as many at a time as
    the pool has threads.
    """

    def run(client):
      with self._pool.at_client(client):
        return fn(client, _Alone(self, client))

    yield from self._pool.map(run, range(self.size))

  def members(self, value: Any) -> tuple[Any, ...]:
    """The values of all clients, as a tuple."""
    if isinstance(value, values.AllEqual):
      return (value.member,) * self.size
    return value

  def run_for(self, client: int, fn: Callable[[Any], Any], value: Any) -> Any:
    """Applies a function; an error names the client."""
    try:
      return fn(value)
    except Exception as error:
      raise errors.ComputationError(
        f'Client {client} (of {self.size}, counted from 0): {error}'
      ) from errors.reason(error)


class _Alone(Cohort):
  """A cohort of one client, which works in the current thread."""

  def __init__(self, cohort: Cohort, client: int):
    super().__init__(1, cohort._pool)
    self._cohort = cohort
    self._client = client

  def map(self, fn: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    [member] = self.members(value)
    return (self._cohort.run_for(self._client, _at_client(fn), member),)


def _at_client(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
  """A function with the threads of a client."""
  return fn.run_at_client if isinstance(fn, limited_leaves.LimitedLeaf) else fn
