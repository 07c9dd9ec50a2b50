# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Operations for several clients at once that TensorFlow itself lacks.

A tensor that differs from client to client is *stacked*: it has the clients on
its first axis. TensorFlow's vectorization (`tf.vectorized_map`) turns an
operation of one client into one of stacked tensors, each in its own way. It has
none, or a loop over the clients, for the operations here.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import WrappedTensor
from tensorflow.python.ops.parallel_for.pfor import _convert_cwise
from tensorflow.python.ops.parallel_for.pfor import _pfor_converter_registry
from tensorflow.python.ops.parallel_for.pfor import wrap

from tff_semifl.runtime import errors

# The shapes of their results depend on values.
RAGGED = ('DynamicPartition', 'Unique', 'UniqueV2', 'Where')

# (an operation, with its converted inputs) -> its converted outputs
Converter = Callable[[Any], Sequence[WrappedTensor]]


def find_converter(op_type: str) -> Converter:
  """Returns what converts operations of a type.

  It is one of ours, or of TensorFlow; if neither has one, there will be an
  operation for each client.

  Args:
    op_type: The type, such as 'Conv2D'.
  """
  converter = _pfor_converter_registry.get(op_type, _one_by_one)
  if converter is _convert_cwise:
    return _elementwise
  return _CONVERTERS.get(op_type, converter)


def count_clients(pfor_input: Any) -> int:
  """Returns the number of clients that an operation is converted for.

  Args:
    pfor_input: The operation.
  """
  [number] = tf.get_static_value(pfor_input.pfor.loop_len_vector)
  return int(number)


def _copy_op(pfor_input: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Returns the outputs of the same operation with other inputs."""
  op = pfor_input.op
  copied = tf.compat.v1.get_default_graph().create_op(
    op.type,
    inputs,
    [output.dtype for output in op.outputs],
    attrs=op.node_def.attr,
  )
  return list(copied.outputs)


def _stacked(tensors: Sequence[tf.Tensor]) -> list[WrappedTensor]:
  return [wrap(each, True) for each in tensors]


def _one_by_one(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation into as many as there are clients."""
  op = pfor_input.op
  if op.type in RAGGED:
    raise errors.NotAtOnceError(
      'the shape of its result depends on the images of a client'
    )
  if op.op_def.is_stateful or tf.variant in [each.dtype for each in op.outputs]:
    raise errors.NotAtOnceError('what it returns has no copy for each client')
  results = [
    _copy_op(
      pfor_input,
      [
        each.t[client] if each.is_stacked else each.t
        for each in pfor_input.inputs
      ],
    )
    for client in range(count_clients(pfor_input))
  ]
  return _stacked([tf.stack(each) for each in zip(*results, strict=True)])


def _as_it_is(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation that does not touch the first axes of its input."""
  value, *others = pfor_input.inputs
  if any(each.is_stacked for each in others):
    return _one_by_one(pfor_input)
  return _stacked(_copy_op(pfor_input, [each.t for each in (value, *others)]))


def _elementwise(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation on the elements of one or more tensors.

  TensorFlow finds out about ranks when the operation runs, for which it adds a
  dozen others; here they are known.
  """
  rank = max(each.shape.rank for each in pfor_input.op.inputs)
  inputs = []
  for each, of_one in zip(pfor_input.inputs, pfor_input.op.inputs, strict=True):
    tensor, missing = each.t, rank - of_one.shape.rank
    if each.is_stacked and missing:
      shape = tf.shape(tensor)
      tensor = tf.reshape(
        tensor, tf.concat([shape[:1], [1] * missing, shape[1:]], axis=0)
      )
    inputs.append(tensor)
  return _stacked(_copy_op(pfor_input, inputs))


def _to_channels(tensor: tf.Tensor) -> tf.Tensor:
  """Turns [clients, a, b, c, channels] into [a, b, c, clients * channels]."""
  shape = tf.shape(tensor)
  return tf.reshape(
    tf.transpose(tensor, [1, 2, 3, 0, 4]),
    tf.concat([shape[1:4], shape[:1] * shape[4:]], axis=0),
  )


def _from_channels(tensor: tf.Tensor, num_clients: int) -> tf.Tensor:
  """Undoes `_to_channels`."""
  shape = tf.shape(tensor)
  split = tf.concat(
    [shape[:3], [num_clients], shape[3:] // num_clients], axis=0
  )
  return tf.transpose(tf.reshape(tensor, split), [3, 0, 1, 2, 4])


def _to_images(tensor: tf.Tensor) -> tf.Tensor:
  """Turns [clients, images, ...] into [clients * images, ...]."""
  shape = tf.shape(tensor)
  return tf.reshape(tensor, tf.concat([[-1], shape[2:]], axis=0))


def _from_images(tensor: tf.Tensor, num_clients: int) -> tf.Tensor:
  """Undoes `_to_images`."""
  shape = tf.shape(tensor)
  return tf.reshape(tensor, tf.concat([[num_clients, -1], shape[1:]], axis=0))


def _check_layout(pfor_input: Any) -> None:
  # The channels of an image and of a kernel are on the last axis.
  if pfor_input.get_attr('data_format') != b'NHWC':
    raise errors.NotAtOnceError(
      'Clients at once need convolutions with channels last (NHWC).'
    )


def _convolution(pfor_input: Any) -> list[WrappedTensor]:
  """Converts a convolution into one with a group of channels for each client.

  Where all clients have the same kernel, their images are so many more images.
  """
  _check_layout(pfor_input)
  number = count_clients(pfor_input)
  images, kernel = pfor_input.inputs
  if kernel.is_stacked:
    pfor_input.stack_inputs([0])
    inputs = [_to_channels(each.t) for each in pfor_input.inputs]
    return _stacked([_from_channels(_copy_op(pfor_input, inputs)[0], number)])
  inputs = [_to_images(images.t), kernel.t]
  return _stacked([_from_images(_copy_op(pfor_input, inputs)[0], number)])


def _gradient_of_images(pfor_input: Any) -> list[WrappedTensor]:
  """Converts a convolution's gradient by its images, as `_convolution`."""
  _check_layout(pfor_input)
  number = count_clients(pfor_input)
  sizes = pfor_input.unstacked_input(0)
  if pfor_input.inputs[1].is_stacked:
    pfor_input.stack_inputs([2])
    kernel, gradient = (_to_channels(each.t) for each in pfor_input.inputs[1:])
    inputs = [sizes * [1, 1, 1, number], kernel, gradient]
    return _stacked([_from_channels(_copy_op(pfor_input, inputs)[0], number)])
  kernel, gradient = (each.t for each in pfor_input.inputs[1:])
  inputs = [sizes * [number, 1, 1, 1], kernel, _to_images(gradient)]
  return _stacked([_from_images(_copy_op(pfor_input, inputs)[0], number)])


def _gradient_of_kernel(pfor_input: Any) -> list[WrappedTensor]:
  """Converts a convolution's gradient by its kernel, as `_convolution`."""
  _check_layout(pfor_input)
  number = count_clients(pfor_input)
  pfor_input.stack_inputs([0, 2])
  images, gradient = (
    _to_channels(pfor_input.stacked_input(index)) for index in (0, 2)
  )
  inputs = [images, pfor_input.unstacked_input(1) * [1, 1, 1, number], gradient]
  return _stacked([_from_channels(_copy_op(pfor_input, inputs)[0], number)])


def _normalization(pfor_input: Any) -> list[WrappedTensor]:
  """Converts batch normalization into one of the channels of all clients."""
  _check_layout(pfor_input)
  number = count_clients(pfor_input)
  pfor_input.stack_inputs()
  images, *weights = (each.t for each in pfor_input.inputs)
  normalized, *others = _copy_op(
    pfor_input,
    [_to_channels(images), *(tf.reshape(each, [-1]) for each in weights)],
  )
  return _stacked(
    [
      _from_channels(normalized, number),
      *(tf.reshape(each, [number, -1]) for each in others),
    ]
  )


def _half_of_squares(pfor_input: Any) -> list[WrappedTensor]:
  """Converts half the sum of squares of a tensor."""
  values = pfor_input.stacked_input(0)
  axes = list(range(1, values.shape.rank))
  return _stacked([tf.reduce_sum(values**2, axes) / 2])


_CONVERTERS = {
  'Bitcast': _as_it_is,
  'Conv2D': _convolution,
  'Conv2DBackpropFilter': _gradient_of_kernel,
  'Conv2DBackpropInput': _gradient_of_images,
  'FusedBatchNormV3': _normalization,
  'L2Loss': _half_of_squares,
  'SelectV2': _elementwise,
  'TopKV2': _as_it_is,
}
