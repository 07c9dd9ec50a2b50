# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Convolutions and batch normalization for several clients at once.

A convolution has a group of channels for each client, and a normalization the
channels of all. On a GPU one launch serves all clients.
"""

from typing import Any

import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import WrappedTensor
from tensorflow.python.ops.parallel_for.pfor import wrap

from tff_semifl.runtime import errors
from tff_semifl.runtime import stacked_channels
from tff_semifl.runtime import stacked_inputs

# The input of the gradient of batch normalization that is as the kernel of the
# forward pass left it.
_FOR_GRADIENT = 5


def _to_images(tensor: tf.Tensor) -> tf.Tensor:
  """Turns [clients, images, ...] into [clients * images, ...]."""
  return tf.reshape(tensor, [-1, *stacked_inputs.find_sizes(tensor, 5)[2:]])


def _from_images(tensor: tf.Tensor, num_clients: int) -> tf.Tensor:
  """Undoes `_to_images`."""
  return tf.reshape(
    tensor, [num_clients, -1, *stacked_inputs.find_sizes(tensor)[1:]]
  )


def _copy_by_channels(pfor_input: Any, inputs) -> tf.Tensor:
  """Returns the output of the same operation with a group for each client."""
  [output] = stacked_inputs.copy_op(pfor_input, inputs)
  return stacked_channels.from_channels(pfor_input, output)


def _copy_by_images(pfor_input: Any, inputs) -> tf.Tensor:
  """Returns the output of the same operation with the images of all clients."""
  [output] = stacked_inputs.copy_op(pfor_input, inputs)
  return _from_images(output, stacked_inputs.count_clients(pfor_input))


def _check_layout(pfor_input: Any) -> None:
  # The channels of an image and of a kernel are on the last axis.
  if pfor_input.get_attr('data_format') != b'NHWC':
    raise errors.NotAtOnceError(
      'Clients at once need convolutions with channels last (NHWC).'
    )


def convolution(pfor_input: Any) -> list[WrappedTensor]:
  """Converts a convolution into one with a group of channels for each client.

  Where all clients have the same kernel, their images are so many more images.

  Args:
    pfor_input: The operation.
  """
  _check_layout(pfor_input)
  images, kernel = pfor_input.inputs
  if kernel.is_stacked:
    inputs = [
      stacked_channels.to_channels(pfor_input, each)
      for each in (images, kernel)
    ]
    output = _copy_by_channels(pfor_input, inputs)
  else:
    output = _copy_by_images(pfor_input, [_to_images(images.t), kernel.t])
  return stacked_inputs.all_stacked([output])


def gradient_of_images(pfor_input: Any) -> list[WrappedTensor]:
  """Converts a convolution's gradient by its images, as `convolution`.

  Args:
    pfor_input: The operation.
  """
  _check_layout(pfor_input)
  number = stacked_inputs.count_clients(pfor_input)
  sizes = pfor_input.unstacked_input(0)
  _, kernel, gradient = pfor_input.inputs
  if kernel.is_stacked:
    inputs = [
      sizes * [1, 1, 1, number],
      stacked_channels.to_channels(pfor_input, kernel),
      stacked_channels.to_channels(pfor_input, gradient),
    ]
    output = _copy_by_channels(pfor_input, inputs)
  else:
    inputs = [sizes * [number, 1, 1, 1], kernel.t, _to_images(gradient.t)]
    output = _copy_by_images(pfor_input, inputs)
  return stacked_inputs.all_stacked([output])


def gradient_of_kernel(pfor_input: Any) -> list[WrappedTensor]:
  """Converts a convolution's gradient by its kernel, as `convolution`.

  Args:
    pfor_input: The operation.
  """
  _check_layout(pfor_input)
  number = stacked_inputs.count_clients(pfor_input)
  images, _, gradient = pfor_input.inputs
  inputs = [
    stacked_channels.to_channels(pfor_input, images),
    pfor_input.unstacked_input(1) * [1, 1, 1, number],
    stacked_channels.to_channels(pfor_input, gradient),
  ]
  return stacked_inputs.all_stacked([_copy_by_channels(pfor_input, inputs)])


def normalization(pfor_input: Any) -> list[WrappedTensor]:
  """Converts batch normalization into one of the channels of all clients.

  Args:
    pfor_input: The operation.
  """
  return _normalize(pfor_input, num_images=1, num_vectors=4)


def gradient_of_normalization(pfor_input: Any) -> list[WrappedTensor]:
  """Converts the gradient of batch normalization, as `normalization`.

  Args:
    pfor_input: The operation.
  """
  return _normalize(pfor_input, num_images=2, num_vectors=2)


def _normalize(
  pfor_input: Any, *, num_images: int, num_vectors: int
) -> list[WrappedTensor]:
  """Converts an operation on images and, after them, vectors of channels.

  Args:
    pfor_input: The operation.
    num_images: How many of its inputs are images.
    num_vectors: How many of its outputs are vectors, after one of images. What
      follows is for the operation's gradient alone, of all clients together.
  """
  _check_layout(pfor_input)
  number = stacked_inputs.count_clients(pfor_input)
  inputs = [
    stacked_channels.to_channels(pfor_input, each)
    for each in pfor_input.inputs[:num_images]
  ]
  for each in pfor_input.inputs[num_images:_FOR_GRADIENT]:
    inputs.append(tf.reshape(stacked_inputs.stack(each, number), [-1]))
  inputs += [each.t for each in pfor_input.inputs[_FOR_GRADIENT:]]
  images, *outputs = stacked_inputs.copy_op(pfor_input, inputs)
  vectors, others = outputs[:num_vectors], outputs[num_vectors:]
  return [
    *stacked_inputs.all_stacked(
      [
        stacked_channels.from_channels(pfor_input, images),
        *(tf.reshape(each, [number, -1]) for each in vectors),
      ]
    ),
    *(wrap(each, False) for each in others),
  ]
