# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts the building blocks of a computation into Python functions.

Conversion happens once: later calls neither visit a block nor import a graph.
Compilation reduces TFF's intrinsics to the intrinsics implemented here.
"""

from collections.abc import Callable
import functools
import operator
from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl.runtime import cohorts
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import values


class Scope(NamedTuple):
  """The cohort of a call, and the values of references by name."""

  cohort: cohorts.Cohort
  names: dict[str | None, Any]

  def bind(self, name: str | None, value: Any) -> 'Scope':
    """A copy of this scope with one more named value."""
    return self._replace(names={**self.names, name: value})


Evaluate = Callable[[Scope], Any]


def build_evaluate(
  block: tff.framework.ComputationBuildingBlock,
  cache: graph_functions.GraphFunctionCache,
) -> Evaluate:
  """A function from a scope to the value of a block (see `values`)."""
  if isinstance(block, tff.framework.Reference):
    name = block.name
    return lambda scope: scope.names[name]
  if isinstance(block, tff.framework.Literal):
    value = values.embed(block.value, block.type_signature)
    return lambda scope: value
  if isinstance(block, tff.framework.CompiledComputation):
    graph_function = cache.get(block)
    return lambda scope: graph_function
  if isinstance(block, tff.framework.Selection):
    source, index = build_evaluate(block.source, cache), block.as_index()
    return lambda scope: source(scope)[index]
  if isinstance(block, tff.framework.Struct):
    parts = [build_evaluate(part, cache) for part in block]
    return lambda scope: [part(scope) for part in parts]
  if isinstance(block, tff.framework.Lambda):
    return build_function(
      build_evaluate(block.result, cache), block.parameter_name
    )
  if isinstance(block, tff.framework.Call):
    function = build_evaluate(block.function, cache)
    if block.argument is None:
      return lambda scope: function(scope)(None)
    argument = build_evaluate(block.argument, cache)
    return lambda scope: function(scope)(argument(scope))
  if isinstance(block, tff.framework.Block):
    return _build_block(block, cache)
  if isinstance(block, tff.framework.Intrinsic):
    return _build_intrinsic(block)
  raise NotImplementedError(f'Cannot run a {type(block).__name__}: {block}')


def _build_block(block, cache):
  local_values = [(n, build_evaluate(b, cache)) for n, b in block.locals]
  result = build_evaluate(block.result, cache)

  def evaluate(scope):
    scope = scope._replace(names=dict(scope.names))
    for name, value in local_values:
      scope.names[name] = value(scope)
    return result(scope)

  return evaluate


def _build_intrinsic(block):
  if block.uri not in _INTRINSICS:
    hint = 'this runtime does not know it'
    if block.uri.startswith('federated_secure'):
      hint = (
        'there is no secure aggregation in a simulation; pass an aggregator '
        'that is not secure'
      )
    raise NotImplementedError(f'`{block.uri}` cannot be run: {hint}.')
  intrinsic = _INTRINSICS[block.uri]
  return lambda scope: functools.partial(intrinsic, scope.cohort)


def build_function(result: Evaluate, name: str | None) -> Evaluate:
  """A function from a scope to a function with the one parameter `name`."""
  return lambda scope: lambda argument: result(scope.bind(name, argument))


def _at_clients(cohort, argument):
  del cohort
  return values.AllEqual(argument)


def _at_server(cohort, argument):
  del cohort
  return argument


def _zip_at_clients(cohort, argument):
  members = _map_struct(cohort.members, argument)
  return tuple(
    _map_struct(operator.itemgetter(index), members)
    for index in range(len(cohort.clients))
  )


def _map_struct(fn, value):
  if isinstance(value, list):
    return [_map_struct(fn, part) for part in value]
  return fn(value)


# Intrinsics as functions of cohort and argument; `stages` evaluates
# `federated_aggregate`.
_INTRINSICS = {
  'federated_apply': lambda cohort, argument: argument[0](argument[1]),
  'federated_broadcast': _at_clients,
  'federated_eval_at_clients': lambda cohort, fn: cohort.map(
    fn, values.AllEqual(None)
  ),
  'federated_eval_at_server': lambda cohort, fn: fn(None),
  'federated_map': lambda cohort, argument: cohort.map(*argument),
  'federated_map_all_equal': lambda cohort, argument: values.AllEqual(
    argument[0](argument[1].member)
  ),
  'federated_value_at_clients': _at_clients,
  'federated_value_at_server': _at_server,
  'federated_zip_at_clients': _zip_at_clients,
  'federated_zip_at_server': _at_server,
}
