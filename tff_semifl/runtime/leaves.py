# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""One piece of TensorFlow code of a computation, callable in this process.

After compilation all arithmetic sits in graphs, each with a list of tensors to
feed and to fetch: the leaves of the computation. TFF's worker runs a leaf in a
session of its own. Here it becomes a function of this process: imported once,
then called with eager tensors, which stay on their device.
"""

from collections.abc import Sequence
import hashlib
import itertools
import threading
from typing import Any
import weakref

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import graphs
from tff_semifl.runtime import released

# A nested list of tensors; a dataset is the variant tensor that stands for it.
Value = Any

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

_import_numbers = itertools.count()


class Leaf:
  """A TensorFlow graph as a function from eager tensors to eager tensors.

  A leaf is pure but for random numbers: each call has fresh variables and
  tables, initialized anew. It may be called by several threads at once. One
  with a queue is slow: it is imported again for each call.
  """

  def __init__(self, block: tff.framework.CompiledComputation):
    self._proto = block.proto.tensorflow
    self._type = block.type_signature
    self._lock = threading.Lock()
    self._function = None
    self._feeds = (
      list(_flatten(_tensor_names(self._proto.parameter)))
      if self._proto.HasField('parameter')
      else []
    )
    self._result = _tensor_names(self._proto.result)
    # Indices of the feeds that the result depends on; known after the import.
    self._used_feeds = []
    self._has_queue = False  # As is this.

  def __call__(self, argument: Value) -> Value:
    """Runs the leaf.

    Args:
      argument: The argument, nested like the type of the parameter; `None` if
        there is no parameter.

    Returns:
      The result, nested like the type of the result.

    Raises:
      errors.ComputationError: TensorFlow reported an error; the cause has it.
    """
    function = self._get_function()
    tensors = list(_flatten(argument))
    try:
      # What its own call does, but for a look at each tensor, in Python, which
      # takes a fifth of the time that a mean of many small arrays takes. (As an
      # op it would be faster still, but never be freed.)
      fetched = function._call_flat([tensors[i] for i in self._used_feeds], [])
    except tf.errors.OpError as error:
      raise errors.ComputationError(
        f'TensorFlow code of type {self._type.compact_representation()} '
        f'failed: {error.message}'
      ) from error
    return _unflatten(self._result, map(released.release_attributes, fetched))

  def _get_function(self):
    with self._lock:
      if self._function is not None:
        return self._function
      function = self._import_graph()
      if not self._has_queue:
        self._function = function
        self._proto = None  # Weights that are constants may make it large.
      return function

  def _import_graph(self):
    """Returns the graph as a function of the feeds that it needs."""
    graph_def = tf.compat.v1.GraphDef.FromString(self._proto.graph_def.value)
    # The functions of a process share one name space.
    suffix = f'_leaf_{next(_import_numbers)}'
    names = [function.signature.name for function in graph_def.library.function]
    graphs.rename_functions(graph_def, {name: name + suffix for name in names})
    _own_resources(graph_def)
    self._has_queue = any(n.op in _QUEUES for n in graphs.all_nodes(graph_def))
    if len(tf.config.list_logical_devices()) > 1:
      _pin_datasets_to_cpu(graph_def)
    if self._proto.initialize_op:
      _initialize_before_use(graph_def, _node_name(self._proto.initialize_op))
    fetches = list(_flatten(self._result))
    nodes = _ancestors(graph_def, fetches)
    graph_def = tf.compat.v1.GraphDef(
      node=nodes.values(),
      library=graph_def.library,
      versions=graph_def.versions,
    )
    self._used_feeds = [
      index
      for index, name in enumerate(self._feeds)
      if _node_name(name) in nodes
    ]
    feeds = [self._feeds[index] for index in self._used_feeds]

    def run(*tensors):
      return tf.graph_util.import_graph_def(
        graph_def,
        input_map=dict(zip(feeds, tensors, strict=True)),
        return_elements=fetches,
        name='',
      )

    specs = [_placeholder_spec(nodes[_node_name(name)]) for name in feeds]
    return tf.compat.v1.wrap_function(run, specs)


class LeafCache:
  """Gives equal graphs the same leaf, for as long as anyone uses it."""

  def __init__(self):
    self._leaves = weakref.WeakValueDictionary()
    self._lock = threading.Lock()

  def __len__(self) -> int:
    return len(self._leaves)

  def get(self, block: tff.framework.CompiledComputation) -> Leaf:
    """Returns the leaf for the graph, a new one if there is none yet.

    Args:
      block: The graph with its feeds, fetches and type.

    Returns:
      The leaf.

    Raises:
      NotImplementedError: The code is not TensorFlow but, for example, JAX.
    """
    kind = block.proto.WhichOneof('computation')
    if kind != 'tensorflow':
      raise NotImplementedError(
        f'Found code of kind {kind!r}: only TensorFlow can be run. Write it '
        'with `tff.tensorflow.computation`.'
      )
    proto = type(block.proto)()
    proto.CopyFrom(block.proto)
    # The id is no part of the content.
    proto.tensorflow.ClearField('cache_key')
    key = hashlib.sha256(proto.SerializeToString(deterministic=True)).digest()
    with self._lock:
      leaf = self._leaves.get(key)
      if leaf is None:
        leaf = self._leaves[key] = Leaf(block)
      return leaf


def _node_name(name: str) -> str:
  """Returns the node of a tensor (`a:0`), a control input (`^a`) or a node."""
  return name.removeprefix('^').split(':')[0]


def _tensor_names(binding) -> Value:
  """Returns the tensors of a `TensorFlow.Binding`, nested like the type."""
  kind = binding.WhichOneof('binding')
  if kind == 'struct':
    return [_tensor_names(part) for part in binding.struct.element]
  if kind == 'sequence':
    return binding.sequence.variant_tensor_name
  return binding.tensor.tensor_name


def _flatten(value: Value):
  if isinstance(value, list):
    for part in value:
      yield from _flatten(part)
  else:
    yield value


def _unflatten(nest: Value, tensors) -> Value:
  if isinstance(nest, list):
    return [_unflatten(part, tensors) for part in nest]
  return next(tensors)


def _placeholder_spec(node) -> tf.TensorSpec:
  shape = node.attr['shape'].shape if 'shape' in node.attr else None
  return tf.TensorSpec(
    tf.TensorShape(shape), tf.dtypes.as_dtype(node.attr['dtype'].type)
  )


def _ancestors(graph_def, names: Sequence[str]):
  """Returns the nodes that the named ones depend on, those included."""
  nodes = {node.name: node for node in graph_def.node}
  found, pending = {}, list(names)
  while pending:
    name = _node_name(pending.pop())
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
      for name in ('container', 'shared_name', 'use_node_name_sharing'):
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
  before = _ancestors(graph_def, [initializer])
  resources = {
    node.name
    for node in graph_def.node
    if node.op == 'VarHandleOp' or node.op in _ANONYMOUS_TABLES.values()
  }
  for node in graph_def.node:
    if node.name not in before and any(
      _node_name(name) in resources for name in node.input
    ):
      node.input.append(f'^{initializer}')
