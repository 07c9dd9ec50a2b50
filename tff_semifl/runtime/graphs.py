# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TensorFlow graphs as data: their nodes, and the names of their functions."""

from collections.abc import Iterator, Mapping
import itertools
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

# TFF does not export it.
from tensorflow_federated.python.core.impl.compiler import tree_transformations


def all_nodes(graph_def: tf.compat.v1.GraphDef) -> Iterator[Any]:
  """Yields the nodes of a graph, those of its functions included."""
  return itertools.chain(
    graph_def.node,
    *(function.node_def for function in graph_def.library.function),
  )


def rename_functions(
  graph_def: tf.compat.v1.GraphDef, new_names: Mapping[str, str]
) -> None:
  """Renames functions of the library, and with them all that calls them.

  Args:
    graph_def: The graph to change.
    new_names: The new name of each function.
  """
  library = graph_def.library

  def rename(attributes):
    for attribute in attributes.values():
      for function in (attribute.func, *attribute.list.func):
        if function.name in new_names:
          function.name = new_names[function.name]
          rename(function.attr)
      # How TensorFlow ties a function to its forward or backward half.
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


def standardize(
  block: tff.framework.ComputationBuildingBlock,
) -> tff.framework.ComputationBuildingBlock:
  """Returns a block that is the same bytes in each process.

  TFF draws names at random. TensorFlow numbers the functions of a process, and
  writes them and the attributes of nodes down in any order.

  Args:
    block: The block.

  Returns:
    One that computes the same. Functions that it never calls are left out.
  """

  def transform(part):
    if not isinstance(part, tff.framework.CompiledComputation):
      return part, False
    proto = type(part.proto)()
    proto.CopyFrom(part.proto)
    proto.tensorflow.ClearField('cache_key')
    graph_def = tf.compat.v1.GraphDef.FromString(
      proto.tensorflow.graph_def.value
    )
    _standardize_graph(graph_def)
    proto.tensorflow.graph_def.value = graph_def.SerializeToString(
      deterministic=True
    )
    return tff.framework.CompiledComputation(
      proto, type_signature=part.type_signature
    ), True

  block, _ = tff.framework.transform_postorder(block, transform)
  names = (f'name_{number}' for number in itertools.count())
  return tree_transformations.uniquify_reference_names(block, names)[0]


def _standardize_graph(graph_def: tf.compat.v1.GraphDef) -> None:
  functions = {
    function.signature.name: function for function in graph_def.library.function
  }
  found = {}

  def visit(nodes):
    for node in nodes:
      for name in _names_in(node):
        if name in functions and name not in found:
          found[name] = f'function_{len(found)}'
          visit(functions[name].node_def)

  visit(graph_def.node)
  del graph_def.library.function[:]
  graph_def.library.function.extend(functions[name] for name in found)
  rename_functions(graph_def, found)
  for node in all_nodes(graph_def):
    node.ClearField('experimental_debug_info')


def _names_in(node) -> Iterator[str]:
  """Yields what may be names of functions, in an order that is always so."""
  yield node.op
  yield from _names_in_attributes(node.attr)


def _names_in_attributes(attributes) -> Iterator[str]:
  for key in sorted(attributes):
    attribute = attributes[key]
    yield attribute.s.decode('utf-8', 'ignore')
    for function in (attribute.func, *attribute.list.func):
      yield function.name
      yield from _names_in_attributes(function.attr)
