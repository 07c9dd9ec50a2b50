# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A remote executor for cohorts without clients.

For them, the worker's answer has no value, and TFF cannot read a type from it.
The value is known without asking: an empty list.
"""

from typing import Any

import tensorflow_federated as tff

from tff_semifl import private_api


class NoClientsExecutor(tff.framework.RemoteExecutor):
  """Returns an empty list for values at clients."""

  async def create_call(
    self,
    comp: private_api.executor_value_base.ExecutorValue,
    arg: private_api.executor_value_base.ExecutorValue | None = None,
  ) -> private_api.executor_value_base.ExecutorValue:
    """Calls a computation; see `tff.framework.RemoteExecutor`."""
    return _Result(self, await super().create_call(comp, arg))


class _Result(private_api.executor_value_base.ExecutorValue):
  """A value in a worker, fetched without its parts at clients."""

  def __init__(self, executor, value):
    self._executor = executor
    self._value = value

  @property
  def type_signature(self):
    return self._value.type_signature

  @property
  def reference(self):
    return self._value.reference

  async def compute(self):
    return await self._compute(self._value)

  async def _compute(self, value) -> Any:
    value_type = value.type_signature
    if not _has_clients(value_type):
      return await value.compute()
    if isinstance(value_type, tff.FederatedType):
      # The worker does not return all-equal values: TFF's error stands.
      return await value.compute() if value_type.all_equal else []
    parts = []
    for index, (name, _) in enumerate(tff.structure.to_elements(value_type)):
      part = await self._executor.create_selection(value, index)
      parts.append((name, await self._compute(part)))
    return tff.structure.Struct(parts)


def _has_clients(value_type: tff.Type) -> bool:
  """Whether a type has a part at the clients."""
  if isinstance(value_type, tff.StructType):
    return any(_has_clients(part) for part in value_type)
  return (
    isinstance(value_type, tff.FederatedType)
    and value_type.placement is tff.CLIENTS
  )
