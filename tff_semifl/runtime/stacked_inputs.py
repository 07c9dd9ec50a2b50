# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The inputs and outputs of an operation that is converted for several clients.

A tensor that differs from client to client is *stacked*: it has the clients on
its first axis. Shapes are numbers as far as they are known, because all that
finds them out otherwise are operations, to be written, optimized and run.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import WrappedTensor
from tensorflow.python.ops.parallel_for.pfor import _stack
from tensorflow.python.ops.parallel_for.pfor import wrap


def count_clients(pfor_input: Any) -> int:
  """Returns the number of clients that an operation is converted for.

  Args:
    pfor_input: The operation.
  """
  [number] = tf.get_static_value(pfor_input.pfor.loop_len_vector)
  return int(number)


def copy_op(pfor_input: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Returns the outputs of the same operation with other inputs.

  Args:
    pfor_input: The operation.
    inputs: The inputs.
  """
  op = pfor_input.op
  copied = tf.compat.v1.get_default_graph().create_op(
    op.type,
    inputs,
    [output.dtype for output in op.outputs],
    attrs=op.node_def.attr,
  )
  return list(copied.outputs)


def all_stacked(tensors: Sequence[tf.Tensor]) -> list[WrappedTensor]:
  """Returns converted outputs, which are all stacked.

  Args:
    tensors: The outputs.
  """
  return [wrap(each, True) for each in tensors]


def find_sizes(
  tensor: tf.Tensor, rank: int | None = None
) -> list[int | tf.Tensor]:
  """Returns the size of each axis, a number if it is known.

  Args:
    tensor: A tensor.
    rank: The number of its axes, if the tensor may not know it.

  Raises:
    ValueError: The number of its axes is not known.
  """
  if tensor.shape.rank is None:
    if rank is None:
      raise ValueError('the number of its axes is not known')
    return tf.unstack(tf.shape(tensor), rank)
  if tensor.shape.is_fully_defined():
    return tensor.shape.as_list()
  sizes = tf.unstack(tf.shape(tensor))
  return [
    size if known is None else known
    for size, known in zip(sizes, tensor.shape, strict=True)
  ]


def stack(value: WrappedTensor, num_clients: int) -> tf.Tensor:
  """Returns a converted input as a stacked tensor.

  Args:
    value: The input.
    num_clients: The number of clients.
  """
  if value.is_stacked:
    return value.t
  if value.t.dtype == tf.variant or value.t.shape.rank is None:
    return _stack(value.t, [num_clients]).t
  return tf.broadcast_to(value.t, [num_clients, *find_sizes(value.t)])
