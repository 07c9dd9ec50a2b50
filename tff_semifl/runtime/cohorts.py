# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The clients of one call, and how work is shared out among them."""

from collections.abc import Callable
from typing import Any

from tff_semifl.runtime import client_pool
from tff_semifl.runtime import errors
from tff_semifl.runtime import limited_leaves
from tff_semifl.runtime import values


class Cohort:
  """A number of clients and the pool that they work in.

  Attributes:
    size: The number of clients.
    absent: Numbers of the clients that have dropped out. What such a client
      would have is None.
  """

  def __init__(self, size: int, pool: client_pool.ClientPool):
    """Initializes the cohort.

    Args:
      size: The number of clients.
      pool: Where they work.
    """
    self.size = size
    self.absent: set[int] = set()
    self._pool = pool

  def present(self) -> list[int]:
    """Returns the numbers of the clients that have not dropped out."""
    return [each for each in range(self.size) if each not in self.absent]

  def map(self, fn: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    """Applies a function to what each client has.

    Args:
      fn: The function.
      value: A value at the clients, see `values`.

    Returns:
      The results, in the order of the clients.

    Raises:
      errors.ComputationError: The function failed; the message has the number
        of the client.
    """
    if isinstance(fn, limited_leaves.LimitedLeaf):
      fn = fn.run_at_client

    def run(client, member):
      with self._pool.at_client(client):
        return self.run_for(client, fn, member)

    return tuple(self._pool.map(run, range(self.size), self.members(value)))

  def members(self, value: Any) -> tuple[Any, ...]:
    """Returns what each client has, one by one."""
    if isinstance(value, values.AllEqual):
      return (value.member,) * self.size
    return value

  def run_for(self, client: int, fn: Callable[[Any], Any], value: Any) -> Any:
    """Applies a function, and names the client if that fails."""
    try:
      return fn(value)
    except Exception as error:
      raise errors.ComputationError(
        f'Client {client} (of {self.size}, counted from 0): {error}'
      ) from errors.reason(error)
