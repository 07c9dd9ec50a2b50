# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Evaluates a computation in stages, so that clients are aggregated early.

A compiled computation is a list of named steps. Each stage has

  steps of the server and steps common to all clients, one after the other
  steps of the clients: a client runs all of its steps without waiting
  aggregations of client values, one client after the other

The values of a client are aggregated while later clients work. A client that
drops out in a stage is left out of the aggregates of this stage and of later
stages.
"""

from collections.abc import Callable, Generator, Sequence
import contextlib
import functools
from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import values

Step = tuple[str, tff.framework.ComputationBuildingBlock]
# Yields the outputs of each present client in order; None for a client that
# drops out.
RunClients = Callable[
  [interpreter.Scope], Generator[Sequence[Any] | None, None, None]
]
# (steps of the clients, names of the steps that are outputs) -> `RunClients`.
BuildClients = Callable[[Sequence[Step], Sequence[str]], RunClients]
# Builds a step of the server, or a step common to all clients.
BuildStep = Callable[[Step], interpreter.Evaluate]

_AGGREGATE = 'federated_aggregate'
# Intrinsics that work on each client separately.
_CLIENT_STEPS = (
  'federated_map',
  'federated_eval_at_clients',
  'federated_zip_at_clients',
)


def build_evaluate(
  block: tff.framework.ComputationBuildingBlock,
  cache: graph_functions.GraphFunctionCache,
  build_clients: BuildClients | None = None,
  build_step: BuildStep | None = None,
) -> interpreter.Evaluate:
  """A function from a scope to the value of a computation (see `values`)."""
  if isinstance(block, tff.framework.Lambda):
    result = build_evaluate(block.result, cache, build_clients, build_step)
    return interpreter.build_function(result, block.parameter_name)
  if isinstance(block, tff.framework.Block):
    return _build_block(
      block,
      cache,
      build_clients or functools.partial(_build_clients, cache),
      build_step or (lambda step: interpreter.build_evaluate(step[1], cache)),
    )
  return interpreter.build_evaluate(block, cache)


def _build_block(block, cache, build_clients, build_step):
  wanted = _names(block.result)
  stages = []
  # Later stages determine the outputs that earlier stages need.
  for steps in reversed(_split(block.locals)):
    stages.append(_build_stage(steps, wanted, cache, build_clients, build_step))
    wanted = wanted.union(*(_names(step) for _, step in steps))
  stages.reverse()
  result = interpreter.build_evaluate(block.result, cache)

  def evaluate(scope):
    scope = scope._replace(names=dict(scope.names))
    for evaluate_stage in stages:
      evaluate_stage(scope)
    return result(scope)

  return evaluate


def _split(steps: Sequence[Step]) -> list[list[Step]]:
  """Groups steps into stages that use only aggregates of earlier stages."""
  known_from = {}
  stages = []
  for name, block in steps:
    stage = max((known_from.get(each, 0) for each in _names(block)), default=0)
    known_from[name] = stage + (_uri(block) == _AGGREGATE)
    stages.extend([] for _ in range(stage + 1 - len(stages)))
    stages[stage].append((name, block))
  return stages


def _build_stage(steps, wanted, cache, build_clients, build_step):
  of_clients, before, folds = [], [], []
  for name, block in steps:
    uri = _uri(block)
    if uri in _CLIENT_STEPS:
      of_clients.append((name, block))
    elif uri == _AGGREGATE:
      folds.append(_build_fold(name, block.argument, cache))
    else:
      before.append((name, build_step((name, block))))
  kept = wanted & {name for name, _ in of_clients}
  needed = kept | {fold.source for fold in folds}
  outputs = [name for name, _ in of_clients if name in needed]
  run_clients = build_clients(of_clients, outputs) if outputs else run_nothing

  def evaluate(scope):
    for name, step in before:
      scope.names[name] = step(scope)
    _fold_clients(scope, run_clients, outputs, kept, folds)

  return evaluate


def run_nothing(
  scope: interpreter.Scope,
) -> Generator[Sequence[Any], None, None]:
  """A `RunClients` that runs no steps; the outputs of clients are empty."""
  yield from ([] for _ in scope.cohort.present())


def _fold_clients(scope, run_clients, outputs, kept, folds):
  cohort = scope.cohort
  found = {name: [None] * len(cohort.clients) for name in kept}
  totals = [fold.zero(scope) for fold in folds]
  accumulate = [fold.accumulate(scope) for fold in folds]
  # Values that no client of this stage computes.
  others = [
    None if fold.source in outputs else cohort.members(fold.value(scope))
    for fold in folds
  ]
  clients = cohort.present()
  with contextlib.closing(run_clients(scope)) as results:
    for client, result in zip(clients, results, strict=True):
      if result is None:
        cohort.absent.add(client)
        continue
      by_name = dict(zip(outputs, result, strict=True))
      for i, (fold, other) in enumerate(zip(folds, others, strict=True)):
        member = by_name[fold.source] if other is None else other[client]
        totals[i] = cohort.run_for(client, accumulate[i], [totals[i], member])
      for name, value in by_name.items():
        if name in kept:
          found[name][client] = value
  for name, members in found.items():
    scope.names[name] = tuple(members)
  for fold, total in zip(folds, totals, strict=True):
    scope.names[fold.name] = fold.report(scope)(total)


def _build_clients(cache, steps, outputs):
  """A function that runs the steps of clients in the threads of the cohort."""
  built = [(name, interpreter.build_evaluate(s, cache)) for name, s in steps]
  used = frozenset().union(*(_names(step) for _, step in steps))

  def run(scope):
    taken = {name: scope.names[name] for name in used if name in scope.names}
    yield from scope.cohort.run_each(
      functools.partial(_run_client, built, outputs, taken)
    )

  return run


def _run_client(steps, outputs, taken, client, alone):
  names = {name: _at_client(value, client) for name, value in taken.items()}
  own = interpreter.Scope(alone, names)
  for name, step in steps:
    own.names[name] = step(own)
  return [alone.members(own.names[name])[0] for name in outputs]


def _at_client(value: Any, client: int) -> Any:
  """Restricts a value at all clients to a cohort of one client."""
  if isinstance(value, values.AllEqual):
    return value
  if isinstance(value, tuple):
    return (value[client],)
  if isinstance(value, list):
    return [_at_client(part, client) for part in value]
  return value


class Fold(NamedTuple):
  """A step `name` that aggregates the client values of the step `source`.

  `source` is None if `value` is not the output of a step.
  """

  name: str
  source: str | None
  value: interpreter.Evaluate
  zero: interpreter.Evaluate
  accumulate: interpreter.Evaluate
  report: interpreter.Evaluate


def _build_fold(name, argument, cache):
  value, *functions = (
    tff.framework.Selection(argument, index=i)
    if not isinstance(argument, tff.framework.Struct)
    else argument[i]
    for i in (0, 1, 2, 4)
  )
  source = value.name if isinstance(value, tff.framework.Reference) else None
  built = (interpreter.build_evaluate(b, cache) for b in (value, *functions))
  return Fold(name, source, *built)


def _names(block: tff.framework.ComputationBuildingBlock) -> frozenset[str]:
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
