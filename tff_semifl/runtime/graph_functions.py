# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The TensorFlow graphs of a computation, callable in this process.

After compilation, TensorFlow graphs contain all arithmetic of a computation.
Each graph is imported once as a function. Calls take and return eager tensors,
which stay on their device. (TFF's worker runs each graph in a session instead.)
"""

from collections.abc import Callable, Sequence
import functools
import hashlib
import threading
from typing import Any
import weakref

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import errors
from tff_semifl.runtime import function_graphs

# A nested list of tensors; a dataset is represented by its variant tensor.
Value = Any

# The empty `__dict__` that all tensors share.
_attributes = {}
# Turns off Grappler's second pass, and remapping. Without a second pass
# compiling a WideResNet's first round takes a fifth less time, and rounds are
# as fast. After one pass, remapping may leave an operation of a loop with an
# input from outside the loop, which TensorFlow refuses to run.
REWRITING = private_api.RewriterConfig(
  meta_optimizer_iterations=private_api.RewriterConfig.ONE,
  remapping=private_api.RewriterConfig.OFF,
)


def call(function: Any, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Calls a concrete function, which has no captures, with eager tensors.

  Skips the checks of `function.__call__`: the mean of many small arrays takes a
  fifth less time. (TensorFlow's operation for calls would leak memory.)
  """
  context = private_api.eager_context()
  # Call options are local to this thread.
  before = context.function_call_options
  context.function_call_options = _limit_rewriting(
    before.config_proto_serialized, before.executor_type
  )
  try:
    return private_api.call_flat(function, tensors, [])
  finally:
    context.function_call_options = before


@functools.lru_cache(maxsize=8)
def _limit_rewriting(
  config: bytes, executor_type: str | None
) -> private_api.FunctionCallOptions:
  limited = tf.compat.v1.ConfigProto.FromString(config)
  limited.graph_options.rewrite_options.MergeFrom(REWRITING)
  return private_api.FunctionCallOptions(executor_type, limited)


def release_attributes(tensor: tf.Tensor) -> tf.Tensor:
  """Frees the memory for the attributes of a tensor, and returns the tensor.

  On Python 3.11, TensorFlow 2.14 never frees these 16 to 48 bytes (TensorFlow
  issue 62551). A simulation may have millions of client updates, each with more
  than a hundred tensors.
  """
  if not tf.is_symbolic_tensor(tensor):
    tensor.__dict__ = _no_attributes()
  return tensor


def _no_attributes() -> dict[str, Any]:
  global _attributes
  if _attributes:
    # Some code has set an attribute in the shared dictionary.
    _attributes = {}
  return _attributes


class GraphFunction:
  """A TensorFlow graph as a function from eager tensors to eager tensors.

  Each call initializes new variables and tables, so that only random numbers
  differ between calls. Several threads may call the function at once.
  """

  def __init__(self, block: tff.framework.CompiledComputation):
    self._proto = block.proto.tensorflow
    self._type = block.type_signature
    self._lock = threading.Lock()
    self._function = None
    self._feeds = (
      tf.nest.flatten(_tensor_names(self._proto.parameter))
      if self._proto.HasField('parameter')
      else []
    )
    self._result = _tensor_names(self._proto.result)
    # Indices of the feeds that the result depends on; set by the import.
    self._used_feeds = []

  def __call__(self, argument: Value) -> Value:
    """Runs the graph; `argument` is None if the graph has no parameter."""
    function = self._get_function()
    tensors = tf.nest.flatten(argument)
    used = [tensors[index] for index in self._used_feeds]
    return self._pack(functools.partial(call, function), used)

  def _pack(self, run: Callable[..., Any], tensors: list[tf.Tensor]) -> Value:
    """Runs a function, and packs its tensors in the structure of the result."""
    try:
      fetched = run(tensors)
    except tf.errors.OpError as error:
      raise errors.of_code(self._type, error) from error
    return tf.nest.pack_sequence_as(
      self._result, [release_attributes(each) for each in fetched]
    )

  def _get_function(self):
    with self._lock:
      if self._function is None:
        self._function, self._used_feeds = import_part(
          function_graphs.read(self._proto),
          self._feeds,
          tf.nest.flatten(self._result),
        )
        self._proto = None  # Frees constants, which may include weights.
      return self._function


def import_part(
  graph_def: tf.compat.v1.GraphDef, feeds: Sequence[str], fetches: Sequence[str]
) -> tuple[Any, list[int]]:
  """Imports the part of a graph that `fetches` depend on.

  Returns a concrete function, and the indices of the feeds that it takes.
  """
  nodes = function_graphs.ancestors(graph_def, fetches)
  part = tf.compat.v1.GraphDef(
    node=nodes.values(), library=graph_def.library, versions=graph_def.versions
  )
  used = [
    index
    for index, name in enumerate(feeds)
    if function_graphs.node_name(name) in nodes
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
    placeholder_spec(nodes[function_graphs.node_name(name)]) for name in names
  ]
  return tf.compat.v1.wrap_function(run, specs), used


class GraphFunctionCache:
  """A cache of graph functions in use; equal graphs share one function."""

  def __init__(
    self,
    create: Callable[
      [tff.framework.CompiledComputation], GraphFunction
    ] = GraphFunction,
  ):
    self._create = create
    self._functions = weakref.WeakValueDictionary()
    self._lock = threading.Lock()

  def get(self, block: tff.framework.CompiledComputation) -> GraphFunction:
    """The graph function of a block, created if the cache has none."""
    kind = block.proto.WhichOneof('computation')
    if kind != 'tensorflow':
      raise NotImplementedError(
        f'Found code of kind {kind!r}: only TensorFlow can be run. Write it '
        'with `tff.tensorflow.computation`.'
      )
    proto = type(block.proto)()
    proto.CopyFrom(block.proto)
    # The cache key is an id, not part of the content.
    proto.tensorflow.ClearField('cache_key')
    key = hashlib.sha256(proto.SerializeToString(deterministic=True)).digest()
    with self._lock:
      graph_function = self._functions.get(key)
      if graph_function is None:
        graph_function = self._functions[key] = self._create(block)
      return graph_function


def _tensor_names(binding) -> Value:
  kind = binding.WhichOneof('binding')
  if kind == 'struct':
    return [_tensor_names(part) for part in binding.struct.element]
  if kind == 'sequence':
    return binding.sequence.variant_tensor_name
  return binding.tensor.tensor_name


def placeholder_spec(node: Any) -> tf.TensorSpec:
  """The shape and dtype of a placeholder node."""
  shape = node.attr['shape'].shape if 'shape' in node.attr else None
  return tf.TensorSpec(
    tf.TensorShape(shape), tf.dtypes.as_dtype(node.attr['dtype'].type)
  )
