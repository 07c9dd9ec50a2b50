# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Values on their way between processes.

A tensor becomes a NumPy array. A dataset becomes its graph, and the large
constants of the graph, images say, are taken out of it: they are known by their
content, so that what was sent once need not be sent again.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import graphs
from tff_semifl.runtime import released
from tff_semifl.runtime import sites

# To send less than this is as cheap as to say which it is.
_MIN_CONTENT_BYTES = 4096
# An attribute of a node of a graph: the number of the constant that was taken.
_TAKEN = '_taken_content'
# They name what this process knows.
_PYTHON_OPS = ('EagerPyFunc', 'PyFunc', 'PyFuncStateless')


class DatasetGraph(NamedTuple):
  """A dataset without its large constants.

  Attributes:
    graph: The serialized graph, which yields the dataset.
    contents: What `take_content` has returned for each constant.
  """

  graph: bytes
  contents: tuple[Any, ...]


def encode(
  value: Any,
  value_type: tff.Type,
  take_content: Callable[[bytes], Any] | None = None,
) -> Any:
  """Returns a value as it can be sent.

  Args:
    value: A value without a place, see `values`.
    value_type: Its type.
    take_content: Is given the content of each large constant of datasets, and
      returns what to send in its place. By default constants stay where they
      are.

  Returns:
    Nested lists of arrays, `DatasetGraph`s and `sites.SiteDataset`s.

  Raises:
    TypeError: A dataset depends on what only this process has.
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
  """Returns a value that was sent, see `values`.

  Args:
    message: What `encode` has returned.
    read_content: Returns the content for what `take_content` has returned.
    read_site: Returns the dataset of a site; None if this is no site.

  Raises:
    errors.SiteError: It has a site's dataset, and this is no site.
  """
  if isinstance(message, DatasetGraph):
    return _decode_dataset(message, read_content)
  if isinstance(message, sites.SiteDataset):
    if read_site is None:
      raise errors.SiteError('images of a site came to what is none')
    return read_site(message)
  if isinstance(message, list):
    return [decode(part, read_content, read_site) for part in message]
  return released.release_attributes(tf.convert_to_tensor(message))


def count_bytes(message: Any) -> int:
  """Returns the size of a message, without contents that were taken out."""
  if isinstance(message, DatasetGraph):
    return len(message.graph)
  if isinstance(message, list):
    return sum(map(count_bytes, message))
  return np.asarray(message).nbytes


def has_graph(message: Any) -> bool:
  """Returns whether a message, or a part of it, is a `DatasetGraph`."""
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
  for node in graphs.all_nodes(graph_def):
    if node.op in _PYTHON_OPS:
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
  return released.release_attributes(dataset)


def _constants(graph_def) -> Sequence[tuple[Any, Any]]:
  """Returns the tensor of each constant, and its node."""
  return [
    (node.attr['value'].tensor, node)
    for node in graphs.all_nodes(graph_def)
    if node.op == 'Const'
  ]
