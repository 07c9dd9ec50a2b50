# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Arithmetic on many tensors by few operations.

A model has many weights, most of them vectors of a normalization, and an
operation on one of them costs its launch, and little else. Here small tensors
are one vector, on which an operation is launched once.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

# Tensors of at most so many elements are packed. On a CPU, larger ones stay in
# its cache by themselves, and copies of them take more than they save. An
# operation on a tensor of this size takes a GPU about as long as its launch.
LARGEST_ON_CPU = 2**12
LARGEST_ON_GPU = 2**20


def largest() -> int:
  """Returns how large tensors are packed: it depends on whether there is a GPU.

  What is built here may run elsewhere. It computes the same, if not as fast.
  """
  on_gpu = tf.config.list_physical_devices('GPU')
  return LARGEST_ON_GPU if on_gpu else LARGEST_ON_CPU


def pack(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Returns tensors that together have all elements, and are few.

  Args:
    tensors: Tensors whose shapes are known.
  """
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
  """Applies a function, element by element, to the tensors of several lists.

  Args:
    fn: (tensors of one shape, one of each list; kind) -> tensors of that shape.
      Each element of its results must follow from the elements in the same
      place alone.
    *tensors: Lists of equal length, not empty; those in the same place have one
      type and one shape, which is known.
    kinds: For each place what `fn` is told of it; by default None. Those of
      different kinds are not packed together.

  Returns:
    For each result of `fn` a list like the lists that were given.
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
  """Returns pairs of a kind and the places of its tensors to pack together."""
  most = largest()
  groups = {}
  for index, (kind, tensor) in enumerate(zip(kinds, tensors, strict=True)):
    is_packed = tensor.shape.num_elements() <= most
    # An index in the place of a type would not do: types equal their numbers.
    key = kind, tensor.dtype, None if is_packed else index
    groups.setdefault(key, []).append(index)
  return [(kind, indices) for (kind, *_), indices in groups.items()]


def _pack(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
  """Returns one vector of several tensors; one tensor as it is."""
  if len(tensors) == 1:
    return tensors[0]
  return tf.concat([_reshape(each, [-1]) for each in tensors], axis=0)


def _reshape(tensor: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
  """Returns a tensor in another shape; a vector as it is."""
  if len(shape) == tensor.shape.rank == 1:
    return tensor
  return tf.reshape(tensor, shape)
