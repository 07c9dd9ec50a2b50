# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Feature vectors in the forms that people have, made into float32 arrays.

As in `own_images`, each function takes the name of a field for its errors.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tff_semifl.data import own_images

_EXPECTED = 'give floats [number, features]'
# So many values are looked at at a time, to spare memory.
_CHUNK = 2**24


def convert_examples(field: str, examples: Any) -> np.ndarray:
  """Converts images, or feature vectors, to the form that tasks have.

  Args:
    field: The name of what is converted.
    examples: Images, as for `own_images.convert`; or feature vectors: an array
      of floats [number, features], or a sequence of arrays [features].

  Returns:
    uint8 [images, height, width, channels] in 0..255, or float32 [number,
    features].

  Raises:
    ValueError: If they are neither.
  """
  array = own_images.stack(field, examples)
  if array.ndim == 2:
    return convert(field, array)
  return own_images.convert(field, array)


def convert(field: str, features: np.ndarray) -> np.ndarray:
  """Converts feature vectors to float32.

  Args:
    field: The name of what is converted.
    features: Floats [number, features].

  Returns:
    float32 [number, features]; the array itself if that is what it is.

  Raises:
    ValueError: If they are something else, or not all finite.
  """
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


def check_vary(field: str, features: np.ndarray) -> None:
  """Refuses features that are the same in all vectors.

  Args:
    field: The name of what has them.
    features: float32 [number, features].

  Raises:
    ValueError: If each of them is.
  """
  if (features.min(axis=0) == features.max(axis=0)).all():
    raise ValueError(
      f'{field}: found the same values in all {len(features)} feature vectors,'
      ' which tell nothing of classes; give different ones'
    )


def measure(
  features: np.ndarray,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
  """Measures mean and standard deviation of each feature.

  It is meant for the server's features: those of clients stay with them.

  Args:
    features: float32 [number, features], at least one vector.

  Returns:
    Two tuples. The standard deviation of a feature that is constant is 1, so
    that dividing by it does no harm.
  """
  mean = features.mean(axis=0, dtype=np.float64)
  squares = sum(
    ((chunk - mean) ** 2).sum(axis=0) for _, chunk in _chunks(features)
  )
  is_constant = features.min(axis=0) == features.max(axis=0)
  deviation = np.where(is_constant, 1.0, np.sqrt(squares / len(features)))
  return tuple(mean.tolist()), tuple(deviation.tolist())


def _chunks(features: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
  """Yields runs of vectors, each with the row at which it begins."""
  size = max(_CHUNK // features.shape[1], 1)
  for start in range(0, len(features), size):
    yield start, features[start : start + size]
