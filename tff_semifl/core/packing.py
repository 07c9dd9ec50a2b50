# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Elementwise arithmetic on many tensors with few operations.

Most weights of a model are small vectors, and an operation on one of them costs
little more than its launch. Here small tensors are concatenated to one vector.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

# Tensors of at most this many elements are concatenated. On a CPU, copies of
# larger ones take more time than they save; on a GPU, an operation on a tensor
# of this size takes about as long as its launch.
LARGEST_ON_CPU = 2**12
LARGEST_ON_GPU = 2**20


def largest() -> int:
  """The largest size of a tensor that is concatenated, on this machine.

  Graphs also run on other machines; the size affects only speed.
  """
  on_gpu = tf.config.list_physical_devices('GPU')
  return LARGEST_ON_GPU if on_gpu else LARGEST_ON_CPU


def pack(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Concatenates tensors of known shapes to fewer tensors."""
  tensors = list(map(tf.convert_to_tensor, tensors))
  return [
    _pack([tensors[index] for index in indices])
    for _, indices in _group(tensors, [None] * len(tensors))
  ]


def map_elements(
  fn: Callable[..., tuple[tf.Tensor, ...]],
  *tensors: Sequence[tf.Tensor],
  kinds: Sequence[Hashable] | None = None,
) -> tuple[list[tf.Tensor], ...]:
  """Applies an elementwise function to the tensors of several lists.

  `fn` is (tensors of one shape, one of each list; kind) -> tensors of that
  shape. Lists have equal length; tensors in the same place have the same type
  and known shape. Tensors of different `kinds`, by default None, are not
  concatenated. Returns a list for each result of `fn`.
  """
  rows = [
    list(map(tf.convert_to_tensor, row)) for row in zip(*tensors, strict=True)
  ]
  first = [row[0] for row in rows]
  kinds = [None] * len(rows) if kinds is None else kinds
  results: list[Any] = [None] * len(rows)
  for kind, indices in _group(first, kinds):
    packed = [
      _pack([rows[index][i] for index in indices]) for i in range(len(tensors))
    ]
    outputs = fn(*packed, kind)
    if len(indices) == 1:
      results[indices[0]] = outputs
      continue
    shapes = [first[index].shape for index in indices]
    sizes = [shape.num_elements() for shape in shapes]
    parts = [tf.split(each, sizes) for each in outputs]
    for index, shape, *row in zip(indices, shapes, *parts, strict=True):
      results[index] = tuple(_reshape(part, shape) for part in row)
  return tuple(map(list, zip(*results, strict=True)))


def _group(
  tensors: Sequence[tf.Tensor], kinds: Sequence[Hashable]
) -> list[tuple[Hashable, list[int]]]:
  """Groups of tensors to concatenate: pairs of a kind and indices."""
  most = largest()
  groups = {}
  for index, (kind, tensor) in enumerate(zip(kinds, tensors, strict=True)):
    is_packed = tensor.shape.num_elements() <= most
    # Not the index in place of the dtype: a dtype equals an integer.
    key = kind, tensor.dtype, None if is_packed else index
    groups.setdefault(key, []).append(index)
  return [(kind, indices) for (kind, *_), indices in groups.items()]


def _pack(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
  """Concatenates tensors to one vector; a single tensor is left as it is."""
  if len(tensors) == 1:
    return tensors[0]
  return tf.concat([_reshape(each, [-1]) for each in tensors], axis=0)


def _reshape(tensor: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
  """Reshapes a tensor, unless it is a vector and should be one."""
  if len(shape) == tensor.shape.rank == 1:
    return tensor
  return tf.reshape(tensor, shape)
