# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The operations that TensorFlow executes, and the bytes that they move.

They are those of the graph as TensorFlow's Grappler leaves it, in a session
that notes each operation, as often as loops repeat it.
"""

import collections
from collections.abc import Mapping, Sequence
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

# They pass tensors on, and compute nothing.
_CONTROL_FLOW = frozenset(
  """
  Const Enter Exit Identity IdentityN LoopCond Merge NextIteration NoOp Switch
  _Arg _Retval _SwitchN
  """.split()
)
# They read nothing of a tensor but its shape.
_VIEWS = frozenset(
  ['EnsureShape', 'ExpandDims', 'Rank', 'Reshape', 'Shape', 'ShapeN', 'Size']
  + ['Squeeze']
)


class Executed(NamedTuple):
  """Counts of executed operations.

  Attributes:
    num_operations: Operations, without those of control flow.
    num_arithmetic: Those of them that write floating point numbers. Of the
      others, most compute shapes and indices.
    num_bytes: Bytes that operations read and wrote.
  """

  num_operations: int
  num_arithmetic: int
  num_bytes: int


def count_added(
  function: tf.types.experimental.ConcreteFunction,
  arguments: Sequence[np.ndarray],
  more_arguments: Sequence[np.ndarray],
) -> Executed:
  """Counts what a call executes beyond what a smaller call does.

  Operations that both calls execute as often are not counted, whatever their
  shapes: what is left are the further iterations of loops.

  Args:
    function: What to call.
    arguments: Of the smaller call, flat.
    more_arguments: Of the other.
  """
  graph = tf.Graph()
  with graph.as_default():
    tf.graph_util.import_graph_def(function.graph.as_graph_def(), name='')
  fetches = [tensor.name for tensor in function.outputs]
  runs = []
  with tf.compat.v1.Session(graph=graph) as session:
    for values in (arguments, more_arguments):
      inputs = [*values, *(each.numpy() for each in function.captured_inputs)]
      metadata = tf.compat.v1.RunMetadata()
      session.run(
        fetches,
        {
          tensor.name: value
          for tensor, value in zip(function.inputs, inputs, strict=True)
        },
        options=tf.compat.v1.RunOptions(
          trace_level=tf.compat.v1.RunOptions.FULL_TRACE,
          output_partition_graphs=True,
        ),
        run_metadata=metadata,
      )
      runs.append(metadata)
  before, after = map(_count_runs, runs)
  return _sum_up(
    runs[-1],
    {
      name: number - before[name]
      for name, number in after.items()
      if number > before[name]
    },
  )


def _count_runs(
  metadata: tf.compat.v1.RunMetadata,
) -> collections.Counter[str]:
  """Returns how often each node ran."""
  return collections.Counter(node.node_name for node in _node_stats(metadata))


def _sum_up(
  metadata: tf.compat.v1.RunMetadata, runs: Mapping[str, int]
) -> Executed:
  """Sums up nodes, each as often as `runs` has it."""
  nodes = {
    node.name: node
    for graph in metadata.partition_graphs
    for node in graph.node
  }
  outputs = {
    f'{node.node_name}:{output.slot}': output.tensor_description
    for node in _node_stats(metadata)
    for output in node.output
  }
  num_operations = num_arithmetic = num_bytes = 0
  for name, number in runs.items():
    node = nodes[name]
    if node.op in _CONTROL_FLOW:
      continue
    num_operations += number
    if node.op in _VIEWS:
      continue
    written = _outputs_of(name, outputs)
    num_arithmetic += number * any(
      tf.dtypes.as_dtype(each.dtype).is_floating for each in written
    )
    read = [
      outputs[tensor] for tensor in map(_tensor_name, node.input) if tensor
    ]
    num_bytes += number * sum(map(_num_bytes, [*written, *read]))
  return Executed(num_operations, num_arithmetic, num_bytes)


def _outputs_of(name, outputs):
  found = []
  while (tensor := f'{name}:{len(found)}') in outputs:
    found.append(outputs[tensor])
  return found


def _node_stats(metadata):
  return [
    node
    for device in metadata.step_stats.dev_stats
    for node in device.node_stats
  ]


def _tensor_name(node_input: str) -> str:
  """Returns 'node:0' of 'node', and '' of what is waited for, '^node'."""
  if node_input.startswith('^'):
    return ''
  return node_input if ':' in node_input else f'{node_input}:0'


def _num_bytes(tensor) -> int:
  size = math.prod(dimension.size for dimension in tensor.shape.dim)
  return size * tf.dtypes.as_dtype(tensor.dtype).size
