# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The conversion of each operation for several clients at once.

TensorFlow's vectorization (`tf.vectorized_map`) turns an operation of one
client into one of stacked tensors (`stacked_inputs`), each in its own way. For
the operations here it has none, or a loop over the clients, or far more
operations.
"""

from collections.abc import Callable, Sequence
import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import WrappedTensor
from tensorflow.python.ops.parallel_for.pfor import _convert_cwise
from tensorflow.python.ops.parallel_for.pfor import _pfor_converter_registry

from tff_semifl.runtime import errors
from tff_semifl.runtime import stacked_axes
from tff_semifl.runtime import stacked_channels
from tff_semifl.runtime import stacked_convolutions
from tff_semifl.runtime import stacked_inputs

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
    converter = _elementwise
  if converter is _elementwise or op_type in _ALSO_ELEMENTWISE:
    return functools.partial(_convert_elementwise, converter)
  if op_type in _IF_KNOWN:
    return functools.partial(_convert_if_known, _IF_KNOWN[op_type], converter)
  return _CONVERTERS.get(op_type, converter)


def _convert_elementwise(
  otherwise: Converter, pfor_input: Any
) -> Sequence[WrappedTensor]:
  if stacked_channels.are_of_channels(pfor_input):
    return stacked_channels.convert_elementwise(pfor_input)
  return otherwise(pfor_input)


def _convert_if_known(
  converter: Converter, otherwise: Converter, pfor_input: Any
) -> Sequence[WrappedTensor]:
  try:
    return converter(pfor_input)
  except stacked_axes.UnknownError:
    return otherwise(pfor_input)


def _one_by_one(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation into as many as there are clients."""
  op = pfor_input.op
  if op.type in RAGGED:
    raise errors.NotAtOnceError(
      'the shape of its result depends on the images of a client'
    )
  if op.op_def.is_stateful or tf.variant in [each.dtype for each in op.outputs]:
    raise errors.NotAtOnceError('what it returns has no copy for each client')
  number = stacked_inputs.count_clients(pfor_input)
  inputs = [
    tf.unstack(each.t, number) if each.is_stacked else [each.t] * number
    for each in pfor_input.inputs
  ]
  results = [
    stacked_inputs.copy_op(pfor_input, of_client)
    for of_client in zip(*inputs, strict=True)
  ]
  return stacked_inputs.all_stacked(
    [tf.stack(each) for each in zip(*results, strict=True)]
  )


def _as_it_is(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation that does not touch the first axes of its input."""
  value, *others = pfor_input.inputs
  if any(each.is_stacked for each in others):
    return _one_by_one(pfor_input)
  return stacked_inputs.all_stacked(
    stacked_inputs.copy_op(pfor_input, [each.t for each in (value, *others)])
  )


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
      number, *sizes = stacked_inputs.find_sizes(tensor)
      tensor = tf.reshape(tensor, [number, *[1] * missing, *sizes])
    inputs.append(tensor)
  return stacked_inputs.all_stacked(stacked_inputs.copy_op(pfor_input, inputs))


def _half_of_squares(pfor_input: Any) -> list[WrappedTensor]:
  """Converts half the sum of squares of a tensor."""
  values = pfor_input.stacked_input(0)
  axes = list(range(1, values.shape.rank))
  return stacked_inputs.all_stacked([tf.reduce_sum(values**2, axes) / 2])


_CONVERTERS = {
  'Bitcast': _as_it_is,
  'Conv2D': stacked_convolutions.convolution,
  'Conv2DBackpropFilter': stacked_convolutions.gradient_of_kernel,
  'Conv2DBackpropInput': stacked_convolutions.gradient_of_images,
  'FusedBatchNormGradV3': stacked_convolutions.gradient_of_normalization,
  'FusedBatchNormV3': stacked_convolutions.normalization,
  'L2Loss': _half_of_squares,
  'SelectV2': _elementwise,
  'TopKV2': _as_it_is,
}
# Elementwise ones that TensorFlow converts in ways of their own.
_ALSO_ELEMENTWISE = (
  'AddN',
  'Cast',
  'EluGrad',
  'Identity',
  'LeakyRelu',
  'LeakyReluGrad',
  'Relu6Grad',
  'ReluGrad',
  'SeluGrad',
  'SigmoidGrad',
  'SoftplusGrad',
  'TanhGrad',
)
# Where an axis or a bound is not known, TensorFlow's own are taken.
_IF_KNOWN = {
  'ConcatV2': stacked_axes.concatenation,
  'Pack': stacked_axes.stacking,
  'Split': stacked_axes.split,
  'StridedSlice': stacked_axes.strided_slice,
}
