# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Images of several clients as images that have the channels of all of them.

A convolution of one client's images and a kernel of its own becomes one with a
group of channels for each client. What follows it is often again of all
channels alike: a normalization, an activation, a sum, the next convolution. So
it is remembered which tensor of channels a stacked tensor was made of, and
operations go on with that. The stacked tensor is then used by nobody, and
TensorFlow leaves it out: without this, half of a step is transposing.
"""

from typing import Any

import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import PFor
from tensorflow.python.ops.parallel_for.pfor import WrappedTensor

from tff_semifl.runtime import stacked_inputs


class Conversion(PFor):
  """The conversion of a graph, which remembers tensors of channels."""

  def __init__(self, **options: Any):
    """Initializes the conversion.

    Args:
      **options: Those of `PFor`.
    """
    super().__init__(**options)
    # By the reference of the stacked tensor. Its name would not do: inputs may
    # be of a graph around the one that is built.
    self.of_channels = {}


def to_channels(pfor_input: Any, value: WrappedTensor) -> tf.Tensor:
  """Returns images, or a kernel, with the channels of all clients.

  Args:
    pfor_input: The operation.
    value: One of its inputs; of one client, [a, b, c, channels].

  Returns:
    A tensor [a, b, c, clients * channels].
  """
  number = stacked_inputs.count_clients(pfor_input)
  stacked = stacked_inputs.stack(value, number)
  known = pfor_input.pfor.of_channels
  key = stacked.ref()
  if key not in known:
    *sizes, channels = stacked_inputs.find_sizes(stacked, 5)[1:]
    known[key] = tf.reshape(
      tf.transpose(stacked, [1, 2, 3, 0, 4]), [*sizes, number * channels]
    )
  return known[key]


def from_channels(pfor_input: Any, tensor: tf.Tensor) -> tf.Tensor:
  """Returns the stacked tensor of one with the channels of all clients.

  Args:
    pfor_input: The operation.
    tensor: One of its outputs, [a, b, c, clients * channels].

  Returns:
    A tensor [clients, a, b, c, channels].
  """
  number = stacked_inputs.count_clients(pfor_input)
  *sizes, channels = stacked_inputs.find_sizes(tensor)
  stacked = tf.transpose(
    tf.reshape(tensor, [*sizes, number, channels // number]), [3, 0, 1, 2, 4]
  )
  pfor_input.pfor.of_channels[stacked.ref()] = tensor
  return stacked


def are_of_channels(pfor_input: Any) -> bool:
  """Returns whether an elementwise operation can be one of channels.

  That is so if an input is known as one, and the others are single numbers or
  images of the same shape.

  Args:
    pfor_input: The operation.
  """
  inputs = list(zip(pfor_input.inputs, pfor_input.op.inputs, strict=True))
  known = [
    of_one.shape
    for each, of_one in inputs
    if each.t.ref() in pfor_input.pfor.of_channels
  ]
  return bool(known) and all(
    of_one.shape.is_fully_defined() and of_one.shape == known[0]
    if each.is_stacked
    else of_one.shape.rank == 0
    for each, of_one in inputs
  )


def convert_elementwise(pfor_input: Any) -> list[WrappedTensor]:
  """Converts an elementwise operation into one of the channels of all clients.

  Args:
    pfor_input: The operation, of which `are_of_channels` is true.
  """
  [output] = stacked_inputs.copy_op(
    pfor_input,
    [
      to_channels(pfor_input, each) if each.is_stacked else each.t
      for each in pfor_input.inputs
    ],
  )
  return stacked_inputs.all_stacked([from_channels(pfor_input, output)])
