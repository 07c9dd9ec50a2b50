# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The graph that one client runs, and what in it may differ between clients."""

from collections.abc import Callable, Sequence
import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import function_def_to_graph

from tff_semifl.runtime import function_calls
from tff_semifl.runtime import graphs

# What calls functions has state here. Where no client has an input of its own,
# TensorFlow's vectorization copies what has none, but not the functions.
_WITH_STATE = {
  'StatelessWhile': 'While',
  'StatelessIf': 'If',
  'PartitionedCall': 'StatefulPartitionedCall',
}
# The attributes of `If` that name functions.
BRANCHES = ('then_branch', 'else_branch')
# Their outputs are the same for all clients, whatever their inputs are.
_OF_SHAPES = ('Rank', 'Shape', 'ShapeN', 'Size')


class ClientGraph:
  """A graph with the graphs of its functions.

  Attributes:
    graph: The graph.
  """

  def __init__(
    self,
    graph_def: tf.compat.v1.GraphDef,
    prepare: Callable[[tf.Graph], None],
  ):
    """Initializes the graph.

    Args:
      graph_def: The graph, whose functions have names that no other has. It is
        changed.
      prepare: Called with each graph.
    """
    for node in graphs.all_nodes(graph_def):
      node.op = _WITH_STATE.get(node.op, node.op)
    self._nodes = {node.name: node for node in graph_def.node}
    self._library, self._versions = graph_def.library, graph_def.versions
    self._functions = {
      each.signature.name: each for each in self._library.function
    }
    self._function_graphs = {}
    self._prepare = prepare
    self.graph = tf.Graph()
    with self.graph.as_default():
      tf.graph_util.import_graph_def(graph_def, name='')
    prepare(self.graph)

  def create_part(
    self, feeds: Sequence[tf.Tensor], fetches: Sequence[tf.Tensor]
  ) -> Callable[[Sequence[tf.Tensor]], list[tf.Tensor]]:
    """Returns a part of the graph as a function.

    Args:
      feeds: Tensors of `graph` that are given.
      fetches: Tensors of `graph` that are wanted.

    Returns:
      A function from the values of the feeds to those of the fetches.
    """
    fed = {each.name for each in feeds}
    nodes, pending = {}, [each.op for each in fetches]
    while pending:
      op = pending.pop()
      if op.name not in nodes:
        nodes[op.name] = self._nodes[op.name]
        pending.extend(op.control_inputs)
        pending.extend(each.op for each in op.inputs if each.name not in fed)
    taken = {name for node in nodes.values() for name in node.input}
    graph_def = tf.compat.v1.GraphDef(
      node=nodes.values(), library=self._library, versions=self._versions
    )

    def run(*values):
      input_map = {
        name: value
        for each, value in zip(feeds, values, strict=True)
        for name in (each.name, each.name.removesuffix(':0'))
        if name in taken
      }
      return tf.graph_util.import_graph_def(
        graph_def, input_map, [each.name for each in fetches], name=''
      )

    specs = [tf.TensorSpec(each.shape, each.dtype) for each in feeds]
    function = tf.compat.v1.wrap_function(run, specs)
    return functools.partial(function_calls.call, function)

  def get_function(
    self, op: tf.Operation, attribute: str, tensors: Sequence[tf.Tensor]
  ) -> Any:
    """Returns the graph of a function that an operation calls.

    Args:
      op: The operation.
      attribute: Which of its attributes names the function.
      tensors: Tensors with the shapes of the function's inputs.
    """
    name = op.get_attr(attribute).name
    shapes = [each.shape for each in tensors]
    key = name, str(shapes)
    if key not in self._function_graphs:
      with self.graph.as_default():
        graph = function_def_to_graph.function_def_to_graph(
          self._functions[name],
          input_shapes=[each.as_proto() for each in shapes],
        )
      self._prepare(graph)
      self._function_graphs[key] = graph
    return self._function_graphs[key]

  def find_stacked(self, graph: Any, stacked: Sequence[bool]) -> list[bool]:
    """Returns which outputs of a function may differ from client to client.

    Args:
      graph: Of the function.
      stacked: Which of its inputs do.
    """
    found = {
      tensor.name: kind
      for tensor, kind in zip(graph.inputs, stacked, strict=True)
    }
    for op in graph.get_operations():
      kinds = [found[each.name] for each in op.inputs]
      if op.type in _OF_SHAPES:
        results = [False] * len(op.outputs)
      elif op.type == 'While':
        results = self.find_stacked_in_loop(op, kinds)
      elif op.type == 'If':
        results = self.find_stacked_in_branches(op, kinds)
      elif op.type == 'StatefulPartitionedCall':
        function = self.get_function(op, 'f', op.inputs)
        results = self.find_stacked(function, kinds)
      else:
        # What has a state, such as random numbers, is anew for each client.
        results = [any(kinds) or op.op_def.is_stateful] * len(op.outputs)
      for output, kind in zip(op.outputs, results, strict=True):
        found.setdefault(output.name, kind)
    return [found[each.name] for each in graph.outputs]

  def find_stacked_in_branches(
    self, op: tf.Operation, stacked: Sequence[bool]
  ) -> list[bool]:
    """Returns which results of branches may differ from client to client.

    Args:
      op: The branches.
      stacked: Which inputs do, the condition first.
    """
    is_own, *kinds = stacked
    return [
      is_own or any(pair)
      for pair in zip(
        *(
          self.find_stacked(self.get_function(op, name, op.inputs[1:]), kinds)
          for name in BRANCHES
        ),
        strict=True,
      )
    ]

  def find_stacked_in_loop(
    self, op: tf.Operation, stacked: Sequence[bool]
  ) -> list[bool]:
    """Returns which variables of a loop may differ from client to client.

    Args:
      op: The loop.
      stacked: Which of them do at its beginning.
    """
    condition = self.get_function(op, 'cond', op.outputs)
    body = self.get_function(op, 'body', op.outputs)
    while True:
      before = stacked
      after = self.find_stacked(body, before)
      # Clients that are done keep what they have.
      if self.find_stacked(condition, before) == [True]:
        after = [
          new is not old
          for new, old in zip(body.outputs, body.inputs, strict=True)
        ]
      stacked = [any(pair) for pair in zip(before, after, strict=True)]
      if stacked == before:
        return stacked
