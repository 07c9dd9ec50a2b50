# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Encodes values for other processes.

A tensor becomes a NumPy array. A dataset becomes a graph without its large
constants, such as images. These constants are sent separately and only once.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import function_graphs
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import sites

# Smaller constants take no more space than a reference.
_MIN_CONTENT_BYTES = 4096
# A node attribute: the index of the content that replaces a constant.
_TAKEN = '_taken_content'


class DatasetGraph(NamedTuple):
  """A serialized dataset graph, and references to its large constants."""

  graph: bytes
  contents: tuple[Any, ...]


def encode(
  value: Any,
  value_type: tff.Type,
  take_content: Callable[[bytes], Any] | None = None,
) -> Any:
  """Encodes a value as nested arrays, `DatasetGraph`s and `SiteDataset`s.

  `take_content` stores the bytes of a large constant and returns a reference
  for `DatasetGraph.contents`. Without `take_content`, graphs keep constants.
  """
  if isinstance(value_type, tff.StructType):
    return [
      encode(part, part_type, take_content)
      for part, part_type in zip(value, value_type, strict=True)
    ]
  if isinstance(value, sites.SiteDataset):
    return value
  if isinstance(value_type, tff.SequenceType):
    return _encode_dataset(value, take_content)
  return value.numpy()


def decode(
  message: Any,
  read_content: Callable[[Any], bytes] | None = None,
  read_site: Callable[[sites.SiteDataset], tf.Tensor] | None = None,
) -> Any:
  """Decodes a value; `read_content` and `read_site` resolve references."""
  if isinstance(message, DatasetGraph):
    return _decode_dataset(message, read_content)
  if isinstance(message, sites.SiteDataset):
    if read_site is None:
      raise errors.SiteError("a site's images came to a process without site")
    return read_site(message)
  if isinstance(message, list):
    return [decode(part, read_content, read_site) for part in message]
  return graph_functions.release_attributes(tf.convert_to_tensor(message))


def count_bytes(message: Any) -> int:
  """The size of a message without the contents of `DatasetGraph`s."""
  if isinstance(message, DatasetGraph):
    return len(message.graph)
  if isinstance(message, list):
    return sum(map(count_bytes, message))
  return np.asarray(message).nbytes


def has_graph(message: Any) -> bool:
  """Whether a message contains a `DatasetGraph`."""
  if isinstance(message, list):
    return any(map(has_graph, message))
  return isinstance(message, DatasetGraph)


def _encode_dataset(variant, take_content):
  why = 'A dataset cannot be sent to another process: '
  try:
    graph = tf.raw_ops.DatasetToGraphV2(
      input_dataset=variant, strip_device_assignment=True
    ).numpy()
  except tf.errors.OpError as error:
    raise TypeError(f'{why}{error.message}') from error
  graph_def = tf.compat.v1.GraphDef.FromString(graph)
  for node in function_graphs.all_nodes(graph_def):
    if node.op in function_graphs.PYTHON_OPS:
      raise TypeError(
        f'{why}it calls a Python function. Use operations of TensorFlow, or'
        ' pass a list of elements.'
      )
  if take_content is None:
    return DatasetGraph(graph, ())
  contents = []
  for tensor, node in _constants(graph_def):
    if len(tensor.tensor_content) >= _MIN_CONTENT_BYTES:
      node.attr[_TAKEN].i = len(contents)
      contents.append(take_content(tensor.tensor_content))
      tensor.tensor_content = b''
  return DatasetGraph(graph_def.SerializeToString(), tuple(contents))


def _decode_dataset(message: DatasetGraph, read_content):
  graph = message.graph
  if message.contents:
    graph_def = tf.compat.v1.GraphDef.FromString(graph)
    for tensor, node in _constants(graph_def):
      if _TAKEN in node.attr:
        number = node.attr[_TAKEN].i
        del node.attr[_TAKEN]
        tensor.tensor_content = read_content(message.contents[number])
    graph = graph_def.SerializeToString()
  with tf.device('CPU'):
    dataset = tf.raw_ops.DatasetFromGraph(graph_def=graph)
  return graph_functions.release_attributes(dataset)


def _constants(graph_def) -> Sequence[tuple[Any, Any]]:
  return [
    (node.attr['value'].tensor, node)
    for node in function_graphs.all_nodes(graph_def)
    if node.op == 'Const'
  ]
