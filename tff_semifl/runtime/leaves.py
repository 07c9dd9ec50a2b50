# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""One piece of TensorFlow code of a computation, callable in this process.

After compilation all arithmetic sits in graphs, each with a list of tensors to
feed and to fetch: the leaves of the computation. TFF's worker runs a leaf in a
session of its own. Here it becomes a function of this process: imported once,
then called with eager tensors, which stay on their device.
"""

from collections.abc import Callable, Iterator, Sequence
import hashlib
import re
import threading
from typing import Any
import weakref

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import function_calls
from tff_semifl.runtime import leaf_graphs
from tff_semifl.runtime import released

_MAX_TYPE_LENGTH = 80
# What TensorFlow says around the reason: it has no stack of an imported graph.
_NO_NEWS = re.compile(
  r'^Graph execution error:\n+|Detected at node .*\n<stack traces.*>\n'
  r'| \[Op:\w+\]'
)

# A nested list of tensors; a dataset is the variant tensor that stands for it.
Value = Any


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
      list(flatten(_tensor_names(self._proto.parameter)))
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
    tensors = list(flatten(argument))
    try:
      fetched = function_calls.call(
        function, [tensors[index] for index in self._used_feeds]
      )
    except tf.errors.OpError as error:
      raise failure(self._type, error) from error
    return unflatten(self._result, map(released.release_attributes, fetched))

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
    graph_def = leaf_graphs.read(self._proto)
    self._has_queue = leaf_graphs.has_queue(graph_def)
    fetches = list(flatten(self._result))
    function, self._used_feeds = import_part(graph_def, self._feeds, fetches)
    return function


def import_part(
  graph_def: tf.compat.v1.GraphDef, feeds: Sequence[str], fetches: Sequence[str]
) -> tuple[Any, list[int]]:
  """Returns a part of a graph as a function.

  Args:
    graph_def: The graph.
    feeds: Names of tensors that are given, of placeholders.
    fetches: Names of tensors that are wanted.

  Returns:
    A function from some of the feeds to the fetches, and the positions of these
    feeds: those that the fetches depend on.
  """
  nodes = leaf_graphs.ancestors(graph_def, fetches)
  part = tf.compat.v1.GraphDef(
    node=nodes.values(),
    library=graph_def.library,
    versions=graph_def.versions,
  )
  used = [
    index
    for index, name in enumerate(feeds)
    if leaf_graphs.node_name(name) in nodes
  ]
  names = [feeds[index] for index in used]

  def run(*tensors):
    return tf.graph_util.import_graph_def(
      part,
      input_map=dict(zip(names, tensors, strict=True)),
      return_elements=fetches,
      name='',
    )

  specs = [
    placeholder_spec(nodes[leaf_graphs.node_name(name)]) for name in names
  ]
  return tf.compat.v1.wrap_function(run, specs), used


def with_loops(
  create: Callable[[tff.framework.CompiledComputation], Leaf],
) -> Callable[[tff.framework.CompiledComputation], Leaf]:
  """Returns what makes the leaves of code: those with a loop in another way.

  All code that trains has a loop.

  Args:
    create: Makes a leaf of code with a loop.
  """

  def create_either(block: tff.framework.CompiledComputation) -> Leaf:
    if leaf_graphs.has_loop(block.proto.tensorflow):
      return create(block)
    return Leaf(block)

  return create_either


def failure(
  code_type: tff.Type, error: tf.errors.OpError
) -> errors.ComputationError:
  """Returns the error to raise for one of TensorFlow.

  Args:
    code_type: The type of the code.
    error: The error of TensorFlow.
  """
  shown = f' of type {code_type.compact_representation()}'
  # Those of models have thousands of characters.
  if len(shown) > _MAX_TYPE_LENGTH:
    shown = ''
  return errors.ComputationError(
    f'TensorFlow code{shown} failed: {_NO_NEWS.sub("", error.message)}'
  )


class LeafCache:
  """Gives equal graphs the same leaf, for as long as anyone uses it."""

  def __init__(
    self,
    create: Callable[[tff.framework.CompiledComputation], Leaf] = Leaf,
  ):
    """Initializes the cache.

    Args:
      create: Makes the leaf of a graph.
    """
    self._create = create
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
        leaf = self._leaves[key] = self._create(block)
      return leaf


def _tensor_names(binding) -> Value:
  """Returns the tensors of a `TensorFlow.Binding`, nested like the type."""
  kind = binding.WhichOneof('binding')
  if kind == 'struct':
    return [_tensor_names(part) for part in binding.struct.element]
  if kind == 'sequence':
    return binding.sequence.variant_tensor_name
  return binding.tensor.tensor_name


def flatten(value: Value) -> Iterator[tf.Tensor]:
  """Yields the tensors of a value."""
  if isinstance(value, list):
    for part in value:
      yield from flatten(part)
  else:
    yield value


def unflatten(nest: Value, tensors: Iterator[tf.Tensor]) -> Value:
  """Returns a value of tensors, nested like another."""
  if isinstance(nest, list):
    return [unflatten(part, tensors) for part in nest]
  return next(tensors)


def placeholder_spec(node: Any) -> tf.TensorSpec:
  """Returns the shape and dtype of a placeholder.

  Args:
    node: Its node.
  """
  shape = node.attr['shape'].shape if 'shape' in node.attr else None
  return tf.TensorSpec(
    tf.TensorShape(shape), tf.dtypes.as_dtype(node.attr['dtype'].type)
  )
