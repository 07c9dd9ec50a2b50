# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A file of feature vectors of three classes, and of five clients."""

from collections.abc import Mapping
import pathlib

import numpy as np

NUM_FEATURES = 6
_CENTERS = np.random.default_rng(0).normal(0, 20, (3, NUM_FEATURES))


def draw(number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
  """Draws float32 vectors of the classes in turn, with their labels."""
  labels = np.arange(number) % 3
  noise = np.random.default_rng(seed).normal(0, 5, (number, NUM_FEATURES))
  return (_CENTERS[labels] + noise + 7).astype(np.float32), labels


def create() -> Mapping[str, np.ndarray]:
  """Creates the arrays of a file; the classes of the server differ in size."""
  labeled, client, test = (
    draw(number, seed) for seed, number in enumerate((13, 40, 30))
  )
  return {
    'features': labeled[0],
    'labels': labeled[1],
    'client_features': client[0],
    # Each client has vectors of all classes, in mixed order.
    'client_ids': np.array(['e', 'b', 'a', 'd', 'c'])[np.arange(40) % 5],
    'client_labels': client[1],
    'test_features': test[0],
    'test_labels': test[1],
  }


def save(path: pathlib.Path, **changes: np.ndarray | None) -> pathlib.Path:
  """Saves the arrays except those changed to None; returns the path."""
  arrays = {**create(), **changes}
  path.parent.mkdir(exist_ok=True)
  np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
  return path
