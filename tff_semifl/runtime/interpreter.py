# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Turns the building blocks of a computation into Python functions, once.

Later calls neither visit a block nor import a graph again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl.runtime import cohorts
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import intrinsics
from tff_semifl.runtime import values


class Scope(NamedTuple):
  """The clients and values that a block is evaluated with.

  Attributes:
    cohort: The clients of this call.
    names: The values of references, by name.
  """

  cohort: cohorts.Cohort
  names: dict[str | None, Any]

  def bind(self, name: str | None, value: Any) -> 'Scope':
    """A scope with one more name."""
    return self._replace(names={**self.names, name: value})


Evaluate = Callable[[Scope], Any]


def build_evaluate(
  block: tff.framework.ComputationBuildingBlock,
  cache: graph_functions.GraphFunctionCache,
) -> Evaluate:
  """Builds a function from a scope to the value of a block, see `values`."""
  for block_type, build in _BUILDERS.items():
    if isinstance(block, block_type):
      return build(block, cache)
  if isinstance(block, tff.framework.Data):
    raise NotImplementedError(
      'Found a reference to external data, which cannot be resolved. '
      'Pass the data as an argument, or have TensorFlow code read it.'
    )
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


def _build_call(block, cache):
  function = build_evaluate(block.function, cache)
  if block.argument is None:
    return lambda scope: function(scope)(None)
  argument = build_evaluate(block.argument, cache)
  return lambda scope: function(scope)(argument(scope))


def _build_compiled(block, cache):
  graph_function = cache.get(block)
  return lambda scope: graph_function


def _build_intrinsic(block, cache):
  del cache
  intrinsic = intrinsics.get_intrinsic(block.uri)
  intrinsic_type = block.type_signature
  return lambda scope: lambda argument: intrinsic(
    scope.cohort, argument, intrinsic_type
  )


def _build_lambda(block, cache):
  result = build_evaluate(block.result, cache)
  name = block.parameter_name
  return lambda scope: lambda argument: result(scope.bind(name, argument))


def _build_literal(block, cache):
  del cache
  value = values.embed(block.value, block.type_signature)
  return lambda scope: value


def _build_reference(block, cache):
  del cache
  name = block.name
  return lambda scope: scope.names[name]


def _build_selection(block, cache):
  source = build_evaluate(block.source, cache)
  index = block.as_index()
  return lambda scope: source(scope)[index]


def _build_struct(block, cache):
  parts = [
    build_evaluate(part, cache) for _, part in tff.structure.to_elements(block)
  ]
  return lambda scope: [part(scope) for part in parts]


_BUILDERS = {
  tff.framework.Block: _build_block,
  tff.framework.Call: _build_call,
  tff.framework.CompiledComputation: _build_compiled,
  tff.framework.Intrinsic: _build_intrinsic,
  tff.framework.Lambda: _build_lambda,
  tff.framework.Literal: _build_literal,
  tff.framework.Reference: _build_reference,
  tff.framework.Selection: _build_selection,
  tff.framework.Struct: _build_struct,
}
