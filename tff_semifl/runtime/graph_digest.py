# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Hashes of computations that are equal in all processes."""

from collections.abc import Iterator, Mapping, Sequence
import hashlib
import itertools
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import function_graphs

# Attributes that do not change results: colocation, names in the source code,
# threads and devices.
_NOT_COMPUTED = ('_class', '_user_specified_name', 'config_proto')


def drop_unused_functions(
  block: tff.framework.ComputationBuildingBlock,
) -> tff.framework.ComputationBuildingBlock:
  """Removes the functions that a block's graphs do not call."""

  def drop(code, graph_def):
    del code
    _choose_functions(graph_def, _find_called(graph_def))

  return _change_graphs(block, drop)


def digest(block: tff.framework.ComputationBuildingBlock) -> str:
  """A SHA-256 hash of a block's operations, equal in all processes.

  Names by TFF, counters of TensorFlow and Keras, and the order of functions and
  attributes differ between processes. For the hash, names are therefore
  replaced by numbers in order of use. The executed graphs keep their names,
  because renaming would change the last digits of results: TensorFlow's
  optimizations depend on names.
  """

  def standardize(code, graph_def):
    names = _find_called(graph_def)
    _choose_functions(graph_def, names)
    function_graphs.rename_functions(
      graph_def, {name: f'function_{i}' for i, name in enumerate(names)}
    )
    new_names = _rename_nodes(graph_def)
    _rename_binding(code.parameter, new_names)
    _rename_binding(code.result, new_names)
    code.initialize_op = _rename(code.initialize_op, new_names)

  names = (f'name_{number}' for number in itertools.count())
  block, _ = private_api.tree_transformations.uniquify_reference_names(
    _change_graphs(block, standardize), names
  )
  return hashlib.sha256(
    block.proto.SerializeToString(deterministic=True)
  ).hexdigest()


def _change_graphs(block, change):
  """Applies `change` to each `TensorFlow` message and its graph."""

  def transform(part):
    if not isinstance(part, tff.framework.CompiledComputation):
      return part, False
    proto = type(part.proto)()
    proto.CopyFrom(part.proto)
    code = proto.tensorflow
    code.ClearField('cache_key')
    graph_def = tf.compat.v1.GraphDef.FromString(code.graph_def.value)
    change(code, graph_def)
    code.graph_def.value = graph_def.SerializeToString(deterministic=True)
    return tff.framework.CompiledComputation(
      proto, type_signature=part.type_signature
    ), True

  return tff.framework.transform_postorder(block, transform)[0]


def _functions(graph_def: tf.compat.v1.GraphDef) -> dict[str, Any]:
  """The functions of a graph by name."""
  return {each.signature.name: each for each in graph_def.library.function}


def _choose_functions(
  graph_def: tf.compat.v1.GraphDef, names: Sequence[str]
) -> None:
  """Keeps only the named functions, in the given order."""
  functions = _functions(graph_def)
  del graph_def.library.function[:]
  graph_def.library.function.extend(functions[name] for name in names)


def _find_called(graph_def: tf.compat.v1.GraphDef) -> list[str]:
  """The functions that a graph calls, in the order of the calls."""
  functions = _functions(graph_def)
  found = {}

  def visit(nodes):
    for node in nodes:
      for name in (node.op, *_names_in(node.attr)):
        if name in functions and name not in found:
          found[name] = None
          visit(functions[name].node_def)

  visit(graph_def.node)
  return list(found)


def _names_in(attributes) -> Iterator[str]:
  """Yields attribute strings that may name functions, in a fixed order."""
  for key in sorted(attributes):
    attribute = attributes[key]
    yield attribute.s.decode('utf-8', 'ignore')
    for function in (attribute.func, *attribute.list.func):
      yield function.name
      yield from _names_in(function.attr)


def _rename_nodes(graph_def: tf.compat.v1.GraphDef) -> Mapping[str, str]:
  """Numbers the nodes of a graph and its functions; maps old to new names.

  Also drops debug info and attributes that do not change results.
  """
  for node in function_graphs.all_nodes(graph_def):
    node.ClearField('experimental_debug_info')
    _drop_what_is_not_computed(node.attr)
  # Nodes refer by name to the results of a function that is an op. The results
  # of other functions, such as loop bodies, can be renamed.
  ops = {node.op for node in function_graphs.all_nodes(graph_def)}
  for function in graph_def.library.function:
    signature = function.signature
    for argument in function.arg_attr.values():
      _drop_what_is_not_computed(argument.attr)
    new_names = _number(signature.input_arg, 'argument')
    _number_nodes(function.node_def, new_names)
    new_results = {each.name: each.name for each in signature.output_arg}
    if signature.name not in ops:
      new_results = _number(signature.output_arg, 'result')
    new_controls = {
      name: f'control_{number}'
      for number, name in enumerate(signature.control_output)
    }
    signature.control_output[:] = new_controls.values()
    for results, keys in (
      (function.ret, new_results),
      (function.control_ret, new_controls),
    ):
      renamed = {keys[k]: _rename(v, new_names) for k, v in results.items()}
      results.clear()
      results.update(renamed)
  return _number_nodes(graph_def.node, {})


def _drop_what_is_not_computed(attributes) -> None:
  for key in _NOT_COMPUTED:
    attributes.pop(key, None)


def _number_nodes(nodes, new_names: dict[str, str]) -> dict[str, str]:
  """Numbers nodes and renames their inputs; adds the names to `new_names`."""
  new_names.update(_number(nodes, 'node'))
  for node in nodes:
    node.input[:] = [_rename(each, new_names) for each in node.input]
  return new_names


def _number(parts, kind: str) -> dict[str, str]:
  """Renames parts to numbers; maps old names to new names."""
  new_names = {}
  for number, part in enumerate(parts):
    new_names[part.name] = f'{kind}_{number}'
    part.name = new_names[part.name]
  return new_names


def _rename(name: str, new_names: Mapping[str, str]) -> str:
  """Renames a node, an output of it (`a:0`) or a control input (`^a`)."""
  sign = '^' if name.startswith('^') else ''
  node, colon, output = name.removeprefix('^').partition(':')
  return f'{sign}{new_names[node]}{colon}{output}' if node else name


def _rename_binding(binding, new_names: Mapping[str, str]) -> None:
  """Renames the nodes that a `TensorFlow.Binding` refers to."""
  kind = binding.WhichOneof('binding')
  if kind == 'struct':
    for part in binding.struct.element:
      _rename_binding(part, new_names)
  elif kind == 'sequence':
    sequence = binding.sequence
    sequence.variant_tensor_name = _rename(
      sequence.variant_tensor_name, new_names
    )
  elif kind == 'tensor':
    tensor = binding.tensor
    tensor.tensor_name = _rename(tensor.tensor_name, new_names)
