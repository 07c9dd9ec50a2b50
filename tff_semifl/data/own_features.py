# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts a user's feature vectors to float32 arrays.

As in `own_images`, each function takes the name of a field for its errors.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tff_semifl.data import own_images

_EXPECTED = 'give floats [number, features]'
_VALUES_PER_CHUNK = 2**24
# The squares of 1e8 such values add up to less than the largest float32.
_LARGEST = 1e15


def convert_examples(field: str, examples: Any) -> np.ndarray:
  """Converts feature vectors, or images as `own_images.convert` does.

  Feature vectors are an array of floats [number, features], or a sequence of
  arrays [features]. The result is float32 [number, features].
  """
  array = own_images.stack(field, examples)
  if array.ndim == 2:
    return convert(field, array)
  return own_images.convert(field, array)


def convert(field: str, features: np.ndarray) -> np.ndarray:
  """Converts floats [number, features] to float32; copies only if needed."""
  found = f'{field}: found {features.dtype} of shape {features.shape}'
  if features.ndim != 2 or features.dtype.kind != 'f':
    raise ValueError(
      f'{found}; {_EXPECTED}, or images [images, height, width, channels]'
    )
  if 0 in features.shape:
    raise ValueError(
      f'{found}, without a {"feature" if len(features) else "vector"};'
      f' {_EXPECTED}, at least one of each'
    )
  with np.errstate(over='ignore'):
    converted = np.ascontiguousarray(features, np.float32)
  for start, chunk in _chunks(converted):
    is_finite = np.isfinite(chunk)
    if not is_finite.all():
      row, column = np.argwhere(~is_finite)[0] + (start, 0)
      raise ValueError(
        f'{field}: found {features[row, column]} in row {row}, column {column};'
        ' give finite float32 numbers'
      )
  return converted


def check_server(field: str, features: np.ndarray) -> None:
  """Raises `ValueError` if the server can learn nothing from its features.

  Clients check their own features, and leave out what they cannot use.
  """
  too_large = np.argwhere(np.abs(features) > _LARGEST)
  if len(too_large):
    row, column = too_large[0]
    raise ValueError(
      f'{field}: found {features[row, column]:g} in row {row}, column {column};'
      f' give numbers up to {_LARGEST:g}, whose squares float32 can add up'
    )
  if (features.min(axis=0) == features.max(axis=0)).all():
    raise ValueError(
      f'{field}: found the same values in all {len(features)} feature vectors,'
      ' which tell nothing of classes; give different ones'
    )


def measure(
  features: np.ndarray,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
  """The mean and standard deviation of each feature, as two tuples.

  For the server's features only: clients' features are private. The deviation
  of a constant feature is 1, so that callers can divide by it.
  """
  mean = features.mean(axis=0, dtype=np.float64)
  squares = sum(
    ((chunk - mean) ** 2).sum(axis=0) for _, chunk in _chunks(features)
  )
  is_constant = features.min(axis=0) == features.max(axis=0)
  deviation = np.where(is_constant, 1.0, np.sqrt(squares / len(features)))
  return tuple(mean.tolist()), tuple(deviation.tolist())


def _chunks(features: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
  """Yields chunks of consecutive vectors, each after its first row's index."""
  size = max(_VALUES_PER_CHUNK // features.shape[1], 1)
  for start in range(0, len(features), size):
    yield start, features[start : start + size]
