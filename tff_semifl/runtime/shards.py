# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A computation in two steps, the first of which can be shared out.

TFF's mergeable form splits a computation at its aggregation:

  each shard of the clients:  accumulate --> what is merged
  once:                       merge all of these in order, then the rest

TFF's own context for this form merges shards, and puts together the results at
clients, in the order in which workers happen to be done. Here the order is that
of the clients: results go to whom they belong, and the same clients give the
same numbers whoever works for them, and however often one is replaced.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import executor_pb2

from tff_semifl.runtime import compiler
from tff_semifl.runtime import values


class Steps(NamedTuple):
  """The two steps.

  Attributes:
    accumulate: From the argument with a shard's clients to what is merged.
    finish: From the argument and what each shard gave to the result.
    num_shards: The number of shards.
    part_type: The type of what is merged, without a place.
    needs_clients: Whether something in the result is at the clients, so that
      `finish` is for each shard to run.
  """

  accumulate: tff.framework.ConcreteComputation
  finish: tff.framework.ConcreteComputation
  num_shards: int
  part_type: tff.Type
  needs_clients: bool


class MergeableComputation:
  """A computation that can be shared out, for whatever number of shards."""

  def __init__(self, computation: tff.framework.ConcreteComputation):
    """Splits the computation.

    Args:
      computation: The computation, with a parameter.

    Raises:
      ValueError: It cannot be split: an aggregation depends on another.
    """
    self._form = tff.backends.native.compile_to_mergeable_comp_form(computation)
    self._accumulate = compiler.compile_computation(self._form.up_to_merge)
    self._finish = {}

  def steps(self, num_shards: int) -> Steps:
    """Returns the steps for a number of shards."""
    if num_shards not in self._finish:
      self._finish[num_shards] = compiler.compile_computation(
        self._build_finish(num_shards)
      )
    return Steps(
      self._accumulate,
      self._finish[num_shards],
      num_shards,
      self._form.up_to_merge.type_signature.result.member,
      has_clients(self._form.after_merge.type_signature.result),
    )

  def _build_finish(self, num_shards):
    form = self._form
    part_type = form.up_to_merge.type_signature.result

    @tff.federated_computation(
      form.up_to_merge.type_signature.parameter,
      tff.StructType([part_type] * num_shards),
    )
    def finish(argument, parts):
      merged = parts[0]
      for i in range(1, num_shards):
        merged = tff.federated_map(form.merge, (merged, parts[i]))
      return form.after_merge(argument, merged)

    return finish


def encode_finish_argument(
  argument: executor_pb2.Value, parts: Sequence[executor_pb2.Value]
) -> executor_pb2.Value:
  """Returns the argument of `Steps.finish`.

  Args:
    argument: That of the computation.
    parts: What each shard gave, at the server.
  """
  return _encode_struct([argument, _encode_struct(parts)])


def _encode_struct(parts):
  return executor_pb2.Value(
    struct=executor_pb2.Value.Struct(
      element=[executor_pb2.Value.Struct.Element(value=part) for part in parts]
    )
  )


def has_clients(value_type: tff.Type) -> bool:
  """Returns whether a value of this type has a part at the clients.

  Args:
    value_type: The type.
  """
  if isinstance(value_type, tff.StructType):
    return any(has_clients(part) for part in value_type)
  return (
    isinstance(value_type, tff.FederatedType)
    and value_type.placement is tff.CLIENTS
  )


def bounds(num_clients: int, num_shards: int) -> list[tuple[int, int]]:
  """Returns the first client of each shard and the one after its last.

  Args:
    num_clients: The number of clients, at least one for each shard.
    num_shards: The number of shards.
  """
  cuts = [i * num_clients // num_shards for i in range(num_shards + 1)]
  return list(zip(cuts[:-1], cuts[1:], strict=True))


def take(value: Any, value_type: tff.Type, start: int, stop: int) -> Any:
  """Returns an argument with some of the clients only.

  Args:
    value: The argument, see `values`.
    value_type: Its type.
    start: The first client.
    stop: The one after the last.
  """
  if isinstance(value_type, tff.StructType):
    return [
      take(part, part_type, start, stop)
      for part, part_type in zip(value, value_type, strict=True)
    ]
  if has_clients(value_type) and not isinstance(value, values.AllEqual):
    return value[start:stop]
  return value


def put_together(results: list[Any], value_type: tff.Type) -> Any:
  """Returns the result for all clients, given that of each shard.

  Args:
    results: What each shard has, in order.
    value_type: The type of the result.
  """
  if isinstance(value_type, tff.StructType):
    return [
      put_together(list(parts), part_type)
      for parts, part_type in zip(
        zip(*results, strict=True), value_type, strict=True
      )
    ]
  if has_clients(value_type) and not value_type.all_equal:
    return tuple(member for result in results for member in result)
  return results[0]
