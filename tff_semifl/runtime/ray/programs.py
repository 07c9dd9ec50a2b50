# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts steps of a computation into programs for other processes.

A program runs for one client at a time: a map over clients becomes a call, and
a zip of client values becomes a struct. Values that the steps take from the
rest of the computation become inputs. Each stage of a computation (`stages`)
with client steps has one program, which runs for each client.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
import functools
import hashlib
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import errors
from tff_semifl.runtime import function_graphs
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import in_process
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import stages
from tff_semifl.runtime import values
from tff_semifl.runtime.ray import graph_digest

_MAPS = ('federated_map', 'federated_apply')
_INPUTS = 'program_inputs'
_INPUT = 'program_input'


class Program(NamedTuple):
  """A function from a struct of inputs to a struct of outputs.

  `content` is the serialized function, and `key` its hash. Functions `inputs`
  compute the program's inputs in the original computation: an `AllEqual` or a
  tuple of client values. `input_types` are the types of one client's values.
  """

  key: str
  content: bytes
  inputs: tuple[interpreter.Evaluate, ...]
  input_types: tuple[tff.Type, ...]


def read(content: bytes) -> tff.framework.ComputationBuildingBlock:
  """Deserializes the content of a program."""
  return tff.framework.ComputationBuildingBlock.from_proto(
    private_api.Computation.FromString(content)
  )


# Runs a program for each present client, or once if `at_server`. Yields the
# outputs of each client in order; None for a client that drops out.
Run = Callable[..., Generator[Sequence[Any] | None, None, None]]


def build_evaluate(
  block: tff.framework.ComputationBuildingBlock,
  cache: graph_functions.GraphFunctionCache,
  run: Run,
) -> interpreter.Evaluate:
  """A function from a scope to the value of a computation (see `values`).

  `run` runs the programs of clients, and server steps that take a dataset
  (training and evaluation). Other server steps run in this process.
  """
  if isinstance(block, tff.framework.CompiledComputation):
    block = _call(block)

  def build_clients(steps, outputs):
    return functools.partial(run, build_program(steps, outputs, cache))

  def build_step(step):
    if not _takes_dataset(step[1]):
      return interpreter.build_evaluate(step[1], cache)
    program = build_program([step], [step[0]], cache)
    return functools.partial(_run_at_server, run, program)

  return stages.build_evaluate(block, cache, build_clients, build_step)


def find_client_programs(
  computation: tff.framework.ConcreteComputation,
) -> list[str]:
  """The digests of the programs that clients run on their data, in order."""
  cache = graph_functions.GraphFunctionCache()
  found = []

  def build_clients(steps, outputs):
    program = build_program(steps, outputs, cache)
    if any(_has(each, tff.SequenceType) for each in program.input_types):
      found.append(graph_digest.digest(read(program.content)))
    return stages.run_nothing

  block = in_process.compile_to_block(computation)
  stages.build_evaluate(block, cache, build_clients)
  # Later stages are built first.
  return found[::-1]


def _run_at_server(run, program, scope):
  [[value]] = run(program, scope, at_server=True)
  return value


def _call(compiled):
  """Wraps TensorFlow code in a function with a single named step."""
  parameter_type = compiled.type_signature.parameter
  argument = None
  if parameter_type is not None:
    argument = tff.framework.Reference('argument', parameter_type)
  call = tff.framework.Call(compiled, argument)
  return tff.framework.Lambda(
    None if argument is None else argument.name,
    parameter_type,
    tff.framework.Block(
      [('result', call)], tff.framework.Reference('result', call.type_signature)
    ),
  )


def _takes_dataset(step: tff.framework.ComputationBuildingBlock) -> bool:
  """Whether a step at the server runs TensorFlow code that takes a dataset."""
  return private_api.tree_analysis.contains(
    step,
    lambda block: isinstance(block, tff.framework.CompiledComputation)
    and block.type_signature.parameter is not None
    and _has(block.type_signature.parameter, tff.SequenceType),
  )


def build_program(
  steps: Sequence[tuple[str, tff.framework.ComputationBuildingBlock]],
  outputs: Sequence[str],
  cache: graph_functions.GraphFunctionCache,
) -> Program:
  """Builds a program of named steps, all at clients or all at the server."""
  rewriter = _Rewriter({name: block.type_signature for name, block in steps})
  bodies = [(name, rewriter.rewrite_step(block)) for name, block in steps]
  inputs = list(rewriter.inputs.values())
  input_types = tuple(_member_type(block.type_signature) for block in inputs)
  parameter = tff.framework.Reference(_INPUTS, tff.StructType(input_types))
  taken = [
    (f'{_INPUT}_{i}', tff.framework.Selection(parameter, index=i))
    for i in range(len(inputs))
  ]
  by_name = dict(bodies)
  function = tff.framework.Lambda(
    _INPUTS,
    parameter.type_signature,
    tff.framework.Block(
      [*taken, *bodies],
      tff.framework.Struct(
        tff.framework.Reference(name, by_name[name].type_signature)
        for name in outputs
      ),
    ),
  )
  # An unsupported function fails here rather than in another process.
  interpreter.build_evaluate(function, cache)
  if calls_python(function):
    raise errors.NotPortableError(
      'tf.numpy_function and tf.py_function call Python code of this process,'
      ' which the processes of clients do not have; write it with operations of'
      ' TensorFlow, or run it by another runtime'
    )
  content = function.proto.SerializeToString(deterministic=True)
  return Program(
    hashlib.sha256(content).hexdigest(),
    content,
    tuple(_build_input(block, cache) for block in inputs),
    input_types,
  )


def _build_input(block, cache):
  """A function from a scope to a program's input, as a value at clients."""
  evaluate = interpreter.build_evaluate(block, cache)
  block_type = block.type_signature
  if (
    isinstance(block_type, tff.FederatedType)
    and block_type.placement is tff.CLIENTS
  ):
    return evaluate
  return lambda scope: values.AllEqual(evaluate(scope))


class _Rewriter:
  """Rewrites steps of a computation into steps of a program."""

  def __init__(self, steps: Mapping[str, tff.Type]):
    self._steps = steps
    # The blocks that steps use from outside of the steps, by TFF notation.
    self.inputs: dict[str, tff.framework.ComputationBuildingBlock] = {}

  def rewrite_step(self, step: tff.framework.ComputationBuildingBlock) -> Any:
    """Converts a step at clients to a step of one client."""
    function, argument = step.function, step.argument
    if not isinstance(function, tff.framework.Intrinsic):
      return self._rewrite(step, frozenset())
    if function.uri in _MAPS:
      function, argument = argument
    elif function.uri == 'federated_eval_at_clients':
      function, argument = argument, None
    else:
      return self._rewrite(argument, frozenset())
    return self._call(function, argument, frozenset())

  def _call(self, function, argument, bound):
    return tff.framework.Call(
      self._rewrite(function, bound),
      None if argument is None else self._rewrite(argument, bound),
    )

  def _rewrite(self, block, bound):
    """Replaces references to other steps and to blocks outside of the steps."""
    framework = tff.framework
    root = block
    while isinstance(root, framework.Selection):
      root = root.source
    if isinstance(root, framework.Reference):
      if root.name in bound:
        return block
      return self._take(block, root)
    if isinstance(block, framework.Selection):
      return framework.Selection(
        self._rewrite(block.source, bound), index=block.as_index()
      )
    if isinstance(block, framework.Struct):
      return framework.Struct(
        (name, self._rewrite(part, bound))
        for name, part in tff.structure.iter_elements(block)
      )
    if isinstance(block, framework.Call):
      return self._call(block.function, block.argument, bound)
    if isinstance(block, framework.Lambda):
      return framework.Lambda(
        block.parameter_name,
        block.parameter_type,
        self._rewrite(block.result, bound | {block.parameter_name}),
      )
    if isinstance(block, framework.Block):
      steps = []
      for name, step in block.locals:
        steps.append((name, self._rewrite(step, bound)))
        bound = bound | {name}
      return framework.Block(steps, self._rewrite(block.result, bound))
    return block

  def _take(self, block, root):
    """A reference to another step or to an input."""
    block_type = block.type_signature
    if isinstance(block_type, tff.StructType) and _has(
      block_type, tff.FederatedType
    ):
      return tff.framework.Struct(
        (name, self._take(tff.framework.Selection(block, index=i), root))
        for i, (name, _) in enumerate(tff.structure.iter_elements(block_type))
      )
    if root.name in self._steps:
      return tff.framework.Reference(root.name, _member_type(block_type))
    key = str(block)
    self.inputs.setdefault(key, block)
    number = list(self.inputs).index(key)
    return tff.framework.Reference(
      f'{_INPUT}_{number}', _member_type(block_type)
    )


def _has(value_type: tff.Type, kind: type[tff.Type]) -> bool:
  return private_api.type_analysis.contains(
    value_type, lambda part: isinstance(part, kind)
  )


def _member_type(value_type: tff.Type) -> tff.Type:
  if isinstance(value_type, tff.FederatedType):
    return value_type.member
  return value_type


def calls_python(block: tff.framework.ComputationBuildingBlock) -> bool:
  """Whether running a block calls Python functions."""

  def has_call(part):
    return isinstance(part, tff.framework.CompiledComputation) and any(
      node.op in function_graphs.PYTHON_OPS
      for node in function_graphs.all_nodes(
        tf.compat.v1.GraphDef.FromString(part.proto.tensorflow.graph_def.value)
      )
    )

  return private_api.tree_analysis.contains(block, has_call)
