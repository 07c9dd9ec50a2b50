# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Evaluates a computation in stages, and delegates the work of clients.

Each stage (`stages`) has one program for each client. Programs run elsewhere.
So do steps of the server that take a dataset (training and evaluation), but not
arithmetic on weights.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import tensorflow_federated as tff

from tff_semifl.runtime import cohorts
from tff_semifl.runtime import compiler
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import stages
from tff_semifl.runtime.ray import programs as ray_programs

# Runs a program for each present client of a cohort, or once for the server.
# Inputs are values at clients (see `values`). Yields the outputs of each client
# in order, None for one that drops out.
Run = Callable[
  [ray_programs.Program, Sequence[Any], cohorts.Cohort | None],
  Generator[Sequence[Any] | None, None, None],
]


def build_evaluate(
  block: tff.framework.ComputationBuildingBlock,
  cache: graph_functions.GraphFunctionCache,
  run: Run,
) -> interpreter.Evaluate:
  """Builds a function from a scope to a computation's value, see `values`."""
  if isinstance(block, tff.framework.CompiledComputation):
    block = _call(block)

  def build_clients(steps, outputs):
    program = ray_programs.build_program(steps, outputs, cache)
    return lambda scope: run(
      program, program.evaluate_inputs(scope), scope.cohort
    )

  def build_step(step):
    if ray_programs.takes_dataset(step[1]):
      return _build_remote_step(step, cache, run)
    return interpreter.build_evaluate(step[1], cache)

  return stages.build_evaluate(block, cache, build_clients, build_step)


def _build_remote_step(step, cache, run):
  """Builds a step of the server that runs elsewhere."""
  program = ray_programs.build_program([step], [step[0]], cache)

  def evaluate(scope):
    [[value]] = run(program, program.evaluate_inputs(scope), None)
    return value

  return evaluate


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
  cache = graph_functions.GraphFunctionCache()
  programs = []

  def build_clients(steps, outputs):
    programs.append(ray_programs.build_program(steps, outputs, cache))
    return stages.run_nothing

  # Later stages are built first.
  stages.build_evaluate(
    compiler.compile_to_block(computation), cache, build_clients
  )
  return [each.digest() for each in reversed(programs) if each.takes_dataset]
