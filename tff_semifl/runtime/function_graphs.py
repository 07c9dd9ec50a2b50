# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads graphs so that calls in one process share no state.

TFF's worker runs each graph in a session. This package calls all graphs in one
process and in several threads. Therefore function names must be unique, and
each call must create its own variables and tables.
"""

from collections.abc import Iterator, Mapping, Sequence
import itertools
from typing import Any

import tensorflow as tf

# A `shared_name` that creates a new variable at each execution of the op: see
# `tf.raw_ops.VarHandleOp`, and ResourceHandle::ANONYMOUS_NAME in TensorFlow.
_ANONYMOUS_NAME = b'cd2c89b7-88b7-44c8-ad83-06c2a9158347'

# Named tables, and tables that live only as long as their handle.
_ANONYMOUS_TABLES = {
  'HashTableV2': 'AnonymousHashTable',
  'MutableHashTableV2': 'AnonymousMutableHashTable',
  'MutableHashTableOfTensorsV2': 'AnonymousMutableHashTableOfTensors',
  'MutableDenseHashTableV2': 'AnonymousMutableDenseHashTable',
}

# Parts of the names of ops that need the CPU. Datasets are on the CPU, and
# iterators on other devices cannot read datasets.
_CPU_ONLY = ('Dataset', 'Iterator')

# Ops that call Python functions of this process.
PYTHON_OPS = ('EagerPyFunc', 'PyFunc', 'PyFuncStateless')

_numbers = itertools.count()


def all_nodes(graph_def: tf.compat.v1.GraphDef) -> Iterator[Any]:
  """Yields the nodes of a graph and of its functions."""
  return itertools.chain(
    graph_def.node,
    *(function.node_def for function in graph_def.library.function),
  )


def rename_functions(
  graph_def: tf.compat.v1.GraphDef, new_names: Mapping[str, str]
) -> None:
  """Renames functions of a graph's library, and all references to them."""
  library = graph_def.library

  def rename(attributes):
    for attribute in attributes.values():
      for function in (attribute.func, *attribute.list.func):
        if function.name in new_names:
          function.name = new_names[function.name]
          rename(function.attr)
      # A string attribute may name the forward or backward part of a function.
      name = attribute.s.decode('utf-8', 'ignore')
      if name in new_names:
        attribute.s = new_names[name].encode()

  for node in all_nodes(graph_def):
    rename(node.attr)
    node.op = new_names.get(node.op, node.op)
  for function in library.function:
    rename(function.attr)
    name = function.signature.name
    function.signature.name = new_names.get(name, name)
  for gradient in library.gradient:
    for field in ('function_name', 'gradient_func'):
      name = getattr(gradient, field)
      setattr(gradient, field, new_names.get(name, name))


def read(code: Any) -> tf.compat.v1.GraphDef:
  """Reads a `TensorFlow` protocol buffer as a graph without shared state."""
  graph_def = tf.compat.v1.GraphDef.FromString(code.graph_def.value)
  # All functions of a process share one namespace.
  suffix = f'_graph_{next(_numbers)}'
  names = [function.signature.name for function in graph_def.library.function]
  rename_functions(graph_def, {name: name + suffix for name in names})
  _own_resources(graph_def)
  if len(tf.config.list_logical_devices()) > 1:
    _pin_datasets_to_cpu(graph_def)
  if code.initialize_op:
    _initialize_before_use(graph_def, node_name(code.initialize_op))
  return graph_def


def node_name(name: str) -> str:
  """The node name of a tensor (`a:0`), a control input (`^a`) or a node."""
  return name.removeprefix('^').split(':')[0]


def ancestors(
  graph_def: tf.compat.v1.GraphDef, names: Sequence[str]
) -> dict[str, Any]:
  """The named nodes and all nodes on which they depend, by name."""
  nodes = {node.name: node for node in graph_def.node}
  found, pending = {}, list(names)
  while pending:
    name = node_name(pending.pop())
    if name not in found:
      found[name] = nodes[name]
      pending.extend(nodes[name].input)
  return found


def _own_resources(graph_def) -> None:
  for node in all_nodes(graph_def):
    # A colocation may refer to a pruned node.
    node.attr.pop('_class', None)
    if node.op == 'VarHandleOp':
      node.attr['shared_name'].s = _ANONYMOUS_NAME
    elif node.op in _ANONYMOUS_TABLES:
      node.op = _ANONYMOUS_TABLES[node.op]
      for name in ('container', 'shared_name', 'usenode_name_sharing'):
        node.attr.pop(name, None)


def _pin_datasets_to_cpu(graph_def) -> None:
  for node in all_nodes(graph_def):
    if any(part in node.op for part in _CPU_ONLY):
      node.device = '/device:CPU:0'


def _initialize_before_use(graph_def, initializer: str) -> None:
  """Makes all users of a resource depend on the node `initializer`."""
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
