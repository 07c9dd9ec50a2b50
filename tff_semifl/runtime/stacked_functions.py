# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Turns a graph of one client into operations for several clients at once.

TensorFlow's vectorization converts operation by operation. Where clients may go
different ways, in loops and branches, it sorts them into those that go on and
those that do not, and no shape is known any more. In turns of static form
clients mostly go the same way: here a loop stays a loop and a branch a branch.
Where they differ, all do both, and each keeps what is its own.
"""

from collections.abc import Sequence
import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import WrappedTensor
from tensorflow.python.ops.parallel_for.pfor import wrap

from tff_semifl.runtime import client_graphs
from tff_semifl.runtime import errors
from tff_semifl.runtime import stacked_channels
from tff_semifl.runtime import stacked_inputs
from tff_semifl.runtime import stacked_operations

_COMPILED = '_XlaMustCompile'


class StackedGraph:
  """A graph that can be built into another, for several clients at once.

  Attributes:
    of_client: The graph of one client.
  """

  def __init__(self, graph_def: tf.compat.v1.GraphDef):
    """Initializes the graph.

    Args:
      graph_def: The graph, whose functions have names that no other has. It is
        changed.
    """
    self.of_client = client_graphs.ClientGraph(graph_def, self._set_converters)

  def build(
    self,
    feeds: Sequence[tf.Tensor],
    fetches: Sequence[tf.Tensor],
    values: Sequence[tf.Tensor],
    stacked: Sequence[bool],
    num_clients: int,
  ) -> tuple[list[tf.Tensor], list[bool]]:
    """Builds a part of the graph into the one around this call.

    Args:
      feeds: Tensors of that graph that are given.
      fetches: Tensors of that graph that are wanted.
      values: Of the feeds; those of all clients, on the first axis, or what all
        clients have.
      stacked: Which of them are of each client.
      num_clients: The number of clients.

    Returns:
      The values of the fetches, and which of them are of each client.

    Raises:
      errors.NotAtOnceError: An operation cannot be run for several clients.
    """
    try:
      outputs = self._convert(
        self.of_client.graph,
        feeds,
        fetches,
        _wrap(values, stacked),
        num_clients,
      )
    except _Failure as failure:
      raise errors.NotAtOnceError(str(failure)) from failure.__cause__
    return [each.t for each in outputs], [each.is_stacked for each in outputs]

  def _set_converters(self, graph: tf.Graph) -> None:
    own = {
      'If': self._convert_branches,
      'StatefulPartitionedCall': self._convert_call,
      'While': self._convert_loop,
    }
    for op in graph.get_operations():
      converter = own.get(op.type) or stacked_operations.find_converter(op.type)
      op.pfor_converter = functools.partial(_convert_or_say, converter)

  def _convert(self, graph, inputs, outputs, values, num_clients):
    """Returns the converted outputs of a graph."""
    converter = stacked_channels.Conversion(
      loop_var=tf.compat.v1.placeholder_with_default(0, []),
      loop_len=num_clients,
      pfor_ops=graph.get_operations(),
      fallback_to_while_loop=False,
    )
    for tensor, value in zip(inputs, values, strict=True):
      converter._add_conversion(tensor, value)
    converted = [converter._convert_helper(each) for each in outputs]
    for each in converter._conversion_map:
      if isinstance(each, tf.Tensor) and each.dtype == tf.resource:
        raise _Failure(
          f'clients would share the {each.op.type} ({each.op.name}), and cannot'
          ' compute at once'
        )
    return converted

  def _convert_function(self, graph, values, num_clients):
    return self._convert(
      graph, graph.inputs, graph.outputs, values, num_clients
    )

  def _convert_call(self, pfor_input: Any) -> list[WrappedTensor]:
    op, inputs = pfor_input.op, pfor_input.inputs
    number = stacked_inputs.count_clients(pfor_input)
    graph = self.of_client.get_function(op, 'f', op.inputs)
    if _COMPILED not in op.node_def.attr or not op.get_attr(_COMPILED):
      return self._convert_function(graph, inputs, number)
    stacked = []

    @tf.function(jit_compile=True, autograph=False)
    def run(*tensors):
      outputs = self._convert_function(
        graph, _wrap(tensors, is_stacked), number
      )
      stacked[:] = [each.is_stacked for each in outputs]
      return [each.t for each in outputs]

    is_stacked = [each.is_stacked for each in inputs]
    return _wrap(run(*(each.t for each in inputs)), stacked)

  def _convert_branches(self, pfor_input: Any) -> list[WrappedTensor]:
    op = pfor_input.op
    number = stacked_inputs.count_clients(pfor_input)
    condition, *inputs = pfor_input.inputs
    branches = [
      self.of_client.get_function(op, name, op.inputs[1:])
      for name in client_graphs.BRANCHES
    ]
    stacked = self.of_client.find_stacked_in_branches(
      op, [each.is_stacked for each in pfor_input.inputs]
    )

    def run(branch):
      outputs = self._convert_function(branch, inputs, number)
      return _stack_some(outputs, stacked, number)

    if condition.is_stacked:
      # Some clients take one branch, others the other.
      outputs = [
        _choose(condition.t, *pair)
        for pair in zip(*(run(each) for each in branches), strict=True)
      ]
    else:
      outputs = tf.cond(
        condition.t, *(functools.partial(run, each) for each in branches)
      )
    return _wrap(outputs, stacked)

  def _convert_loop(self, pfor_input: Any) -> list[WrappedTensor]:
    op = pfor_input.op
    number = stacked_inputs.count_clients(pfor_input)
    stacked = self.of_client.find_stacked_in_loop(
      op, [each.is_stacked for each in pfor_input.inputs]
    )
    pfor_input.stack_inputs(
      [index for index, kind in enumerate(stacked) if kind], tile_variants=True
    )
    condition = self.of_client.get_function(op, 'cond', op.outputs)
    body = self.of_client.get_function(op, 'body', op.outputs)

    def find_open(values):
      [is_open] = self._convert_function(
        condition, _wrap(values, stacked), number
      )
      return is_open

    def step(*values):
      outputs = self._convert_function(body, _wrap(values, stacked), number)
      outputs = _stack_some(outputs, stacked, number)
      is_open = find_open(values)
      if not is_open.is_stacked:
        return outputs
      return [
        _choose(is_open.t, new, old) if kind else new
        for new, old, kind in zip(outputs, values, stacked, strict=True)
      ]

    outputs = tf.while_loop(
      lambda *values: tf.reduce_any(find_open(values).t),
      step,
      [each.t for each in pfor_input.inputs],
      shape_invariants=[
        _shape(output, kind, number)
        for output, kind in zip(op.outputs, stacked, strict=True)
      ],
    )
    return _wrap(outputs, stacked)


class _Failure(BaseException):
  """An operation that cannot be converted.

  TensorFlow would write down any other exception, at each level of functions,
  and stumble over operations that no line of Python has made.
  """


def _convert_or_say(
  converter: stacked_operations.Converter, pfor_input: Any
) -> Sequence[WrappedTensor]:
  """Converts an operation.

  Raises:
    _Failure: It cannot be converted.
  """
  op = pfor_input.op
  try:
    return converter(pfor_input)
  except Exception as error:
    raise _Failure(
      f'operation {op.type} ({op.name}) cannot be run for several clients at'
      f' once: {error}'
    ) from error


def _wrap(tensors, stacked) -> list[WrappedTensor]:
  return [wrap(*each) for each in zip(tensors, stacked, strict=True)]


def _stack_some(values, stacked, num_clients) -> list[tf.Tensor]:
  """Returns the tensors of values, each stacked or not as is said.

  Raises:
    errors.NotAtOnceError: One is stacked that cannot be.
  """
  if any(
    value.is_stacked and not kind
    for value, kind in zip(values, stacked, strict=True)
  ):
    raise errors.NotAtOnceError('it differs unexpectedly between clients')
  return [
    stacked_inputs.stack(value, num_clients) if kind else value.t
    for value, kind in zip(values, stacked, strict=True)
  ]


def _choose(condition, new, old):
  """Returns the rows of one tensor or of another."""
  if new.dtype == tf.variant:
    raise errors.NotAtOnceError('not all clients do the same with a list')
  ones = [1] * (new.shape.rank - 1)
  return tf.where(tf.reshape(condition, [-1, *ones]), new, old)


def _shape(tensor, is_stacked, num_clients) -> tf.TensorShape:
  # A list of stacked tensors is one list.
  if tensor.dtype == tf.variant or not is_stacked:
    return tensor.shape
  return tf.TensorShape([num_clients]).concatenate(tensor.shape)
