# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Evaluates a computation in stages, and delegates the work of clients.

A compiled computation is a list of named steps. Each stage has

  steps of the server and steps common to all clients, one after the other
  steps of the clients, all of them in one program for each client
  aggregations of client values, one client after the other

A client that drops out in a stage is in no sum of that stage or later ones.
Programs run elsewhere. So do steps of the server that take a dataset (training
and evaluation), but not arithmetic on weights.
"""

from collections.abc import Callable, Generator, Sequence
import contextlib
from typing import Any

import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import cohorts
from tff_semifl.runtime import compiler
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import leaves
from tff_semifl.runtime import ray_programs

# Runs a program for each present client of a cohort, or once for the server.
# Inputs are values at clients (see `values`). Yields the outputs of each client
# in order, None for one that drops out.
Run = Callable[
  [ray_programs.Program, Sequence[Any], cohorts.Cohort | None],
  Generator[Sequence[Any] | None, None, None],
]
_Step = tuple[str, tff.framework.ComputationBuildingBlock]

_AGGREGATE = 'federated_aggregate'
# Computed in this process after the programs of clients.
_AFTER_CLIENTS = (_AGGREGATE, 'federated_select')


def build_evaluate(
  block: tff.framework.ComputationBuildingBlock,
  cache: leaves.LeafCache,
  run: Run,
) -> interpreter.Evaluate:
  """Builds a function from a scope to a computation's value, see `values`.

  Args:
    block: The computation, in call-dominant form.
    cache: The cache of graphs imported in this process.
    run: Runs programs elsewhere.

  Raises:
    NotImplementedError: The block, or one inside it, is not supported.
  """
  if isinstance(block, tff.framework.CompiledComputation):
    block = _call(block)
  if isinstance(block, tff.framework.Lambda):
    result = build_evaluate(block.result, cache, run)
    name = block.parameter_name
    return lambda scope: lambda argument: result(scope.bind(name, argument))
  if isinstance(block, tff.framework.Block):
    return _build_block(block, cache, run)
  return interpreter.build_evaluate(block, cache)


def _call(compiled):
  """Wraps compiled code in a function with a single named step."""
  parameter_type = compiled.type_signature.parameter
  argument = None
  if parameter_type is not None:
    argument = tff.framework.Reference('argument', parameter_type)
  call = tff.framework.Call(compiled, argument)
  return tff.framework.Lambda(
    None if argument is None else argument.name,
    parameter_type,
    tff.framework.Block(
      [('result', call)],
      tff.framework.Reference('result', call.type_signature),
    ),
  )


def find_client_programs(
  computation: tff.framework.ConcreteComputation,
) -> list[str]:
  """The hashes of the programs that clients run on their data."""
  block = compiler.compile_to_block(computation)
  if isinstance(block, tff.framework.Lambda):
    block = block.result
  if not isinstance(block, tff.framework.Block):
    return []
  return [
    program.digest()
    for _, program in _build_stages(block, leaves.LeafCache(), run=None)
    if program.output_types and program.takes_dataset
  ]


def _build_block(block, cache, run):
  """Builds the function that evaluates a list of steps."""
  stages = _build_stages(block, cache, run)
  result = interpreter.build_evaluate(block.result, cache)

  def evaluate(scope):
    scope = scope._replace(names=dict(scope.names))
    for evaluate_stage, _ in stages:
      evaluate_stage(scope)
    return result(scope)

  return evaluate


def _build_stages(block, cache, run):
  """The evaluation function and the client program of each stage."""
  wanted = _names(block.result)
  built = []
  # Later stages determine which outputs earlier ones need.
  for steps in reversed(_split(block.locals)):
    built.append(_build_stage(steps, wanted, cache, run))
    wanted = wanted.union(*(_names(step) for _, step in steps))
  return built[::-1]


def _split(steps: Sequence[_Step]) -> list[list[_Step]]:
  """The steps of each stage, in order."""
  known_from = {}
  stages = []
  for name, block in steps:
    stage = max((known_from.get(each, 0) for each in _names(block)), default=0)
    known_from[name] = stage + (_uri(block) in _AFTER_CLIENTS)
    stages.extend([] for _ in range(stage + 1 - len(stages)))
    stages[stage].append((name, block))
  return stages


def _build_stage(steps, wanted, cache, run):
  """The evaluation function of a stage, and its client program."""
  of_clients, before, after, folds = [], [], [], []
  for name, block in steps:
    uri = _uri(block)
    if uri in ray_programs.CLIENT_STEPS:
      of_clients.append((name, block))
    elif uri == _AGGREGATE:
      folds.append(_Fold(name, block.argument, cache))
    elif uri in _AFTER_CLIENTS:
      after.append((name, interpreter.build_evaluate(block, cache)))
    elif ray_programs.takes_dataset(block):
      before.append((name, _build_remote_step(name, block, cache, run)))
    else:
      before.append((name, interpreter.build_evaluate(block, cache)))
  names = {name for name, _ in of_clients}
  kept = names & wanted.union(
    *(_names(block) for _, block in steps if _uri(block) == 'federated_select')
  )
  needed = kept | {fold.source for fold in folds}
  outputs = [name for name, _ in of_clients if name in needed]
  program = ray_programs.build_program(of_clients, outputs, cache)

  def evaluate(scope):
    for name, step in before:
      scope.names[name] = step(scope)
    _fold_clients(scope, program, outputs, kept, folds, run)
    for name, step in after:
      scope.names[name] = step(scope)

  return evaluate, program


def _build_remote_step(name, block, cache, run):
  program = ray_programs.build_program([(name, block)], [name], cache)

  def evaluate(scope):
    [[value]] = run(program, program.evaluate_inputs(scope), None)
    return value

  return evaluate


def _fold_clients(scope, program, outputs, kept, folds, run):
  """Runs a program at clients and aggregates, one client after the other."""
  cohort = scope.cohort
  found = {name: [None] * cohort.size for name in kept}
  sums = [fold.start(scope) for fold in folds]
  # Values that no program of this stage computes.
  others = [
    None if fold.source in outputs else cohort.members(fold.value(scope))
    for fold in folds
  ]
  clients = cohort.present()
  if outputs:
    results = run(program, program.evaluate_inputs(scope), cohort)
  else:
    results = ([] for _ in clients)
  with contextlib.closing(results):
    for client, result in zip(clients, results, strict=True):
      if result is None:
        cohort.absent.add(client)
        continue
      by_name = dict(zip(outputs, result, strict=True))
      for fold, total, other in zip(folds, sums, others, strict=True):
        member = by_name[fold.source] if other is None else other[client]
        total.add(cohort, client, member)
      for name, value in by_name.items():
        if name in kept:
          found[name][client] = value
  for name, members in found.items():
    scope.names[name] = tuple(members)
  for fold, total in zip(folds, sums, strict=True):
    scope.names[fold.name] = total.report()


class _Fold:
  """An aggregation of client values.

  Attributes:
    name: The name of the result.
    source: The name of the aggregated step; None if it is no step.
    value: Evaluates the aggregated value.
  """

  def __init__(self, name, argument, cache):
    self.name = name
    value, self._zero, self._accumulate, self._report = (
      tff.framework.Selection(argument, index=i)
      if not isinstance(argument, tff.framework.Struct)
      else argument[i]
      for i in (0, 1, 2, 4)
    )
    self.source = (
      value.name if isinstance(value, tff.framework.Reference) else None
    )
    self.value = interpreter.build_evaluate(value, cache)
    self._zero = interpreter.build_evaluate(self._zero, cache)
    self._accumulate = interpreter.build_evaluate(self._accumulate, cache)
    self._report = interpreter.build_evaluate(self._report, cache)

  def start(self, scope: interpreter.Scope) -> '_Sum':
    """The aggregate of no clients."""
    return _Sum(self._zero(scope), self._accumulate(scope), self._report(scope))


class _Sum:
  """The running aggregate of clients."""

  def __init__(self, zero, accumulate, report):
    self._total = zero
    self._accumulate = accumulate
    self._report = report

  def add(self, cohort: cohorts.Cohort, client: int, member: Any) -> None:
    """Adds the value of the next client."""
    self._total = cohort.run_for(
      client, self._accumulate, [self._total, member]
    )

  def report(self) -> Any:
    """The result of the aggregation."""
    return self._report(self._total)


def _names(block: tff.framework.ComputationBuildingBlock) -> frozenset[str]:
  """The free names of a block."""
  found = private_api.transformation_utils.get_map_of_unbound_references(block)[
    block
  ]
  return frozenset(found)


def _uri(block: tff.framework.ComputationBuildingBlock) -> str | None:
  """The name of the intrinsic that a step calls, or None."""
  if isinstance(block, tff.framework.Call) and isinstance(
    block.function, tff.framework.Intrinsic
  ):
    return block.function.uri
  return None
