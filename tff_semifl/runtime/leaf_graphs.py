# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The graph of a leaf, such that each call of it is on its own.

A worker of TFF runs it in a session of its own. Here a process has many graphs,
and several threads call one of them at once: functions need names that no other
graph has, and variables and tables have to be made anew by each call.
"""

from collections.abc import Sequence
import itertools
from typing import Any

import tensorflow as tf

from tff_semifl.runtime import graphs

# As a `shared_name` this asks for a new variable each time the op runs. See
# `tf.raw_ops.VarHandleOp`, and ResourceHandle::ANONYMOUS_NAME in TensorFlow.
_ANONYMOUS_NAME = b'cd2c89b7-88b7-44c8-ad83-06c2a9158347'

# Tables that live as long as their handle, in place of tables that the process
# keeps under a name.
_ANONYMOUS_TABLES = {
  'HashTableV2': 'AnonymousHashTable',
  'MutableHashTableV2': 'AnonymousMutableHashTable',
  'MutableHashTableOfTensorsV2': 'AnonymousMutableHashTableOfTensors',
  'MutableDenseHashTableV2': 'AnonymousMutableDenseHashTable',
}

# Parts of the names of ops that only a CPU can run: a dataset is there, and an
# iterator elsewhere could not read it.
_CPU_ONLY = ('Dataset', 'Iterator')

# Of TensorFlow 1: what they hold outlives the call. With what to use instead.
_REFUSED_OPS = {
  'IteratorV2': '`iter(dataset)` in a `tf.function`',
  'OneShotIterator': '`iter(dataset)` in a `tf.function`',
  'VariableV2': '`tf.Variable`',
}

# These live as long as the function that they are in. TFF's heavy hitters want
# them.
_QUEUES = (
  'FIFOQueueV2',
  'PaddingFIFOQueueV2',
  'PriorityQueueV2',
  'RandomShuffleQueueV2',
)

_LOOPS = ('StatelessWhile', 'While')

_numbers = itertools.count()


def read(code: Any) -> tf.compat.v1.GraphDef:
  """Returns the graph of TensorFlow code.

  Args:
    code: A `TensorFlow` message of TFF.

  Returns:
    The graph, which is the caller's, with functions that no other graph has.

  Raises:
    NotImplementedError: An operation is of TensorFlow 1.
  """
  graph_def = tf.compat.v1.GraphDef.FromString(code.graph_def.value)
  # The functions of a process share one name space.
  suffix = f'_leaf_{next(_numbers)}'
  names = [function.signature.name for function in graph_def.library.function]
  graphs.rename_functions(graph_def, {name: name + suffix for name in names})
  _own_resources(graph_def)
  if len(tf.config.list_logical_devices()) > 1:
    _pin_datasets_to_cpu(graph_def)
  if code.initialize_op:
    _initialize_before_use(graph_def, node_name(code.initialize_op))
  return graph_def


def has_queue(graph_def: tf.compat.v1.GraphDef) -> bool:
  """Returns whether there is a queue, which is the same in each call."""
  return any(node.op in _QUEUES for node in graphs.all_nodes(graph_def))


def has_loop(code: Any) -> bool:
  """Returns whether TensorFlow code has a loop, as all that trains has.

  Args:
    code: A `TensorFlow` message of TFF.
  """
  graph_def = tf.compat.v1.GraphDef.FromString(code.graph_def.value)
  return any(node.op in _LOOPS for node in graphs.all_nodes(graph_def))


def node_name(name: str) -> str:
  """Returns the node of a tensor (`a:0`), a control input (`^a`) or a node."""
  return name.removeprefix('^').split(':')[0]


def ancestors(
  graph_def: tf.compat.v1.GraphDef, names: Sequence[str]
) -> dict[str, Any]:
  """Returns nodes by name: all that the named ones depend on, and these."""
  nodes = {node.name: node for node in graph_def.node}
  found, pending = {}, list(names)
  while pending:
    name = node_name(pending.pop())
    if name not in found:
      found[name] = nodes[name]
      pending.extend(nodes[name].input)
  return found


def _own_resources(graph_def) -> None:
  """Makes every call of the graph create its own variables and tables."""
  for node in graphs.all_nodes(graph_def):
    # Says where to place a node, by the name of another that may be pruned.
    node.attr.pop('_class', None)
    if node.op in _REFUSED_OPS:
      raise NotImplementedError(
        f'Found an op of TensorFlow 1 ({node.op}) that would not be fresh at '
        f'each call. Use {_REFUSED_OPS[node.op]}.'
      )
    if node.op == 'VarHandleOp':
      node.attr['shared_name'].s = _ANONYMOUS_NAME
    elif node.op in _QUEUES:
      node.attr['shared_name'].s = b''
    elif node.op in _ANONYMOUS_TABLES:
      node.op = _ANONYMOUS_TABLES[node.op]
      for name in ('container', 'shared_name', 'usenode_name_sharing'):
        node.attr.pop(name, None)


def _pin_datasets_to_cpu(graph_def) -> None:
  """Keeps all that has to do with datasets on the CPU.

  Everything else goes where the call is placed.
  """
  for node in graphs.all_nodes(graph_def):
    if any(part in node.op for part in _CPU_ONLY):
      node.device = '/device:CPU:0'


def _initialize_before_use(graph_def, initializer: str) -> None:
  """Lets all users of a resource wait for the initializer of the graph.

  A session runs the initializer first. In a function the order has to be said.

  Args:
    graph_def: The graph to change.
    initializer: The name of the node that initializes variables and tables.
  """
  before = ancestors(graph_def, [initializer])
  resources = {
    node.name
    for node in graph_def.node
    if node.op == 'VarHandleOp' or node.op in _ANONYMOUS_TABLES.values()
  }
  for node in graph_def.node:
    if node.name not in before and any(
      node_name(name) in resources for name in node.input
    ):
      node.input.append(f'^{initializer}')
