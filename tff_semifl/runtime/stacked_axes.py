# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Operations along an axis for several clients at once.

Their axes and bounds are inputs. TensorFlow's vectorization computes new ones
when the operation runs, by up to a dozen others; here they are known.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import WrappedTensor

from tff_semifl.runtime import stacked_inputs

_MASKS = (
  'begin_mask',
  'end_mask',
  'ellipsis_mask',
  'new_axis_mask',
  'shrink_axis_mask',
)


class UnknownError(Exception):
  """An axis or a bound is not known before the operation runs."""


def stacking(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation that makes one tensor of several, on a new axis.

  Args:
    pfor_input: The operation.
  """
  values = _stack_all(pfor_input, pfor_input.inputs)
  axis = _move(pfor_input.get_attr('axis'))
  return stacked_inputs.all_stacked([tf.stack(values, axis)])


def concatenation(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation that makes one tensor of several, along an axis.

  Args:
    pfor_input: The operation.

  Raises:
    UnknownError: The axis or a bound depends on something.
  """
  *values, axis = pfor_input.inputs
  axis = _move(int(_find_value(axis)))
  values = _stack_all(pfor_input, values)
  return stacked_inputs.all_stacked([tf.concat(values, axis)])


def split(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation that makes several tensors of one, along an axis.

  Args:
    pfor_input: The operation.

  Raises:
    UnknownError: The axis or a bound depends on something.
  """
  axis, value = pfor_input.inputs
  number = pfor_input.get_attr('num_split')
  axis = _move(int(_find_value(axis)))
  return stacked_inputs.all_stacked(tf.split(value.t, number, axis))


def strided_slice(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an operation that returns a slice of a tensor.

  Args:
    pfor_input: The operation.

  Raises:
    UnknownError: The axis or a bound depends on something.
  """
  value, *bounds = pfor_input.inputs
  bounds = [
    np.concatenate([np.array([of_clients], bound.dtype), bound])
    for of_clients, bound in zip(
      (0, 0, 1), map(_find_value, bounds), strict=True
    )
  ]
  masks = {name: pfor_input.get_attr(name) << 1 for name in _MASKS}
  masks['begin_mask'] |= 1
  masks['end_mask'] |= 1
  return stacked_inputs.all_stacked(
    [tf.strided_slice(value.t, *bounds, **masks)]
  )


def _stack_all(
  pfor_input: Any, values: Sequence[WrappedTensor]
) -> list[tf.Tensor]:
  number = stacked_inputs.count_clients(pfor_input)
  return [stacked_inputs.stack(each, number) for each in values]


def _move(axis: int) -> int:
  """Returns the number of an axis if there is one more before all."""
  return axis + 1 if axis >= 0 else axis


def _find_value(value: WrappedTensor) -> np.ndarray:
  """Returns the value of an input.

  Raises:
    UnknownError: It depends on something.
  """
  found = None if value.is_stacked else tf.get_static_value(value.t)
  if found is None:
    raise UnknownError
  return found
