# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Hashes of programs: equal programs have equal hashes in all processes."""

from collections.abc import Iterator
import hashlib
import itertools
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import function_graphs

# Attributes that do not change results: colocation, names in the source code,
# threads, devices, and the functions that compute gradients.
_NOT_COMPUTED = (
  *('_class', '_user_specified_name', 'config_proto', '_gradient_op_type'),
  *('forward_function_name', 'backward_function_name'),
)


def digest(block: tff.framework.ComputationBuildingBlock) -> str:
  """A SHA-256 hash of a block's operations, constants and types.

  The names that TFF, TensorFlow and Keras generate, and the order of functions
  and attributes, differ between processes. Therefore references to nodes are
  hashed as positions, and references to functions as hashes of their content.
  """

  def hash_code(part):
    if not isinstance(part, tff.framework.CompiledComputation):
      return part, False
    code = part.proto.tensorflow
    graph_def = tf.compat.v1.GraphDef.FromString(code.graph_def.value)
    names = [*_tensor_names(code.parameter), *_tensor_names(code.result)]
    proto = type(part.proto)(type=part.proto.type)
    proto.tensorflow.initialize_op = _Hasher(graph_def).hash_nodes(
      graph_def.node, [], [*names, code.initialize_op]
    )
    return tff.framework.CompiledComputation(
      proto, type_signature=part.type_signature
    ), True

  hashed, _ = private_api.tree_transformations.uniquify_reference_names(
    tff.framework.transform_postorder(block, hash_code)[0],
    (f'name_{number}' for number in itertools.count()),
  )
  return hashlib.sha256(
    hashed.proto.SerializeToString(deterministic=True)
  ).hexdigest()


class _Hasher:
  """Hashes the nodes and functions of a graph; changes the graph."""

  def __init__(self, graph_def: tf.compat.v1.GraphDef):
    functions = graph_def.library.function
    self._functions = {each.signature.name: each for each in functions}
    self._ops = {node.op for node in function_graphs.all_nodes(graph_def)}
    self._digests: dict[str, str] = {}

  def hash_nodes(
    self, nodes: Any, arguments: list[str], outputs: list[str]
  ) -> str:
    """A hash of nodes, inputs and outputs, with positions in place of names."""
    names = [*arguments, *(node.name for node in nodes)]
    positions = {name: str(position) for position, name in enumerate(names)}

    def locate(tensor):
      name = function_graphs.node_name(tensor)
      return tensor.replace(name, positions[name], 1) if name else ''

    parts = []
    for node in nodes:
      inputs = [locate(each) for each in node.input]
      for field in ('name', 'input', 'experimental_debug_info'):
        node.ClearField(field)
      self._rename_attributes(node.attr)
      node.op = self._rename(node.op)
      parts.append((inputs, node.SerializeToString(deterministic=True)))
    return _hash(len(arguments), parts, [locate(each) for each in outputs])

  def _rename(self, name: str) -> str:
    """Replaces the name of a function of the graph by the function's hash."""
    if name in self._functions and name not in self._digests:
      self._digests[name] = self._hash_function(self._functions[name])
    return self._digests.get(name, name)

  def _hash_function(self, function: Any) -> str:
    signature = function.signature
    results = [function.ret[each.name] for each in signature.output_arg]
    controls = [function.control_ret[key] for key in signature.control_output]
    arguments = [each.name for each in signature.input_arg]
    nodes = self.hash_nodes(function.node_def, arguments, results + controls)
    for field in ('node_def', 'ret', 'control_ret'):
      function.ClearField(field)
    for attributes in (function, *function.arg_attr.values()):
      self._rename_attributes(attributes.attr)
    for each in signature.input_arg:
      each.ClearField('name')
    # Names of results matter only if a node calls the function as an operation.
    if signature.name not in self._ops:
      for each in signature.output_arg:
        each.ClearField('name')
    for field in ('name', 'control_output'):
      signature.ClearField(field)
    return _hash(nodes, function.SerializeToString(deterministic=True))

  def _rename_attributes(self, attributes: Any) -> None:
    for key in _NOT_COMPUTED:
      attributes.pop(key, None)
    for attribute in attributes.values():
      for function in (attribute.func, *attribute.list.func):
        if function.name:
          function.name = self._rename(function.name)
          self._rename_attributes(function.attr)
      name = attribute.s.decode('utf-8', 'ignore')
      if name in self._functions:
        attribute.s = self._rename(name).encode()


def _tensor_names(binding: Any) -> Iterator[str]:
  for part in binding.struct.element:
    yield from _tensor_names(part)
  yield binding.tensor.tensor_name or binding.sequence.variant_tensor_name


def _hash(*parts: Any) -> str:
  return hashlib.sha256(repr(parts).encode()).hexdigest()
