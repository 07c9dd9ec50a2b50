# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The clients of one call of a computation."""

from collections.abc import Callable
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
    """The results of a function for each client's part of a value, in order.

    Raises:
      errors.ComputationError: The function failed; the message names the
        client.
    """
    if isinstance(fn, limited_leaves.LimitedLeaf):
      fn = fn.run_at_client

    def run(client, member):
      with self._pool.at_client(client):
        return self.run_for(client, fn, member)

    return tuple(self._pool.map(run, range(self.size), self.members(value)))

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
