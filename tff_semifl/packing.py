# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Arithmetic on many tensors by few operations.

Most weights of a model are vectors of a normalization, and an operation on one
of them costs its launch, and nothing else. Here small tensors are one vector,
on which an operation is launched once.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

# Tensors of fewer elements are packed. To copy one of them takes less than to
# launch an operation; larger ones stay in a processor's cache by themselves.
_SMALL = 4096


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
  kinds = [None] * len(rows) if kinds is None else kinds
  packs = {}
  for index, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
    is_small = row[0].shape.num_elements() < _SMALL
    # An index in the place of a type would not do: types equal their numbers.
    key = kind, row[0].dtype, None if is_small else index
    packs.setdefault(key, []).append(index)
  results: list[Any] = [None] * len(rows)
  for (kind, *_), indices in packs.items():
    if len(indices) == 1:
      [index] = indices
      results[index] = fn(*rows[index], kind)
      continue
    shapes = [rows[index][0].shape for index in indices]
    sizes = [shape.num_elements() for shape in shapes]
    packed = [
      tf.concat([tf.reshape(rows[index][i], [-1]) for index in indices], axis=0)
      for i in range(len(tensors))
    ]
    outputs = [tf.split(each, sizes) for each in fn(*packed, kind)]
    for index, shape, *parts in zip(indices, shapes, *outputs, strict=True):
      results[index] = tuple(tf.reshape(part, shape) for part in parts)
  return tuple(map(list, zip(*results, strict=True)))
