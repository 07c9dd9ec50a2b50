# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The kinds of examples: images, and feature vectors."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

# Height, width and channels, or the number of features.
ExampleShape = tuple[int, ...]


class ExampleKind(NamedTuple):
  """A kind of examples: images or feature vectors."""

  name: str  # The plural noun.
  dtype: np.dtype  # The dtype in data and computations.
  unit: float  # The value that counts as 1 in means and standard deviations.
  # (generator, shape) -> random values: uniform pixels, or normal features.
  draw_noise: Callable[[np.random.Generator, Sequence[int]], np.ndarray]


IMAGES = ExampleKind(
  'images',
  np.dtype(np.uint8),
  255.0,
  lambda generator, shape: generator.integers(256, size=shape, dtype=np.uint8),
)
FEATURES = ExampleKind(
  'feature vectors',
  np.dtype(np.float32),
  1.0,
  lambda generator, shape: generator.standard_normal(shape, np.float32),
)
_BY_RANK = {3: IMAGES, 1: FEATURES}


def kind_of(shape: Sequence[int | None]) -> ExampleKind:
  """The kind of examples that have this shape."""
  if len(shape) not in _BY_RANK:
    raise ValueError(
      f'found examples of shape {tuple(shape)}; give images [height, width,'
      ' channels] or feature vectors [features]'
    )
  return _BY_RANK[len(shape)]


def zeros(shape: Sequence[int]) -> np.ndarray:
  """A batch of one example, all zeros."""
  return np.zeros([1, *shape], kind_of(shape).dtype)
