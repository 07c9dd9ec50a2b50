# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Test images, and Pillow's operations for batches of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from sklearn import datasets


def create_images(height: int = 32, width: int = 32) -> np.ndarray:
  """Creates uint8 images [batch, height, width, 3], including edge cases."""
  generator = np.random.default_rng(0)
  shape = (height, width, 3)
  # Two photographs that scikit-learn contains.
  photographs = [
    photograph[row : row + height, column : column + width]
    for photograph in datasets.load_sample_images().images
    for row in range(0, 400, 200)
    for column in range(0, 600, 300)
  ]
  noise = list(generator.integers(256, size=(4, *shape), dtype=np.uint8))
  faint = list(generator.integers(100, 140, size=(4, *shape), dtype=np.uint8))
  few_levels = [
    generator.choice(np.array(levels, np.uint8), shape)
    for levels in ([0, 255], [0, 1], [254, 255], [7, 90, 200])
  ]
  ramp = np.linspace(0, 255, width).astype(np.uint8)
  ramps = [np.broadcast_to(ramp[None, :, None], shape)]
  constant = [np.full(shape, level, np.uint8) for level in (0, 1, 128, 255)]
  primary = []
  for channel in range(3):
    primary.append(np.zeros(shape, np.uint8))
    primary[-1][..., channel] = 255
  one_channel_flat = [noise[0].copy(), photographs[0].copy()]
  one_channel_flat[0][..., 1] = 0
  one_channel_flat[1][..., 2] = 77
  almost_constant = [np.full(shape, 30, np.uint8)]
  almost_constant[0][0, 0] = 31
  return np.stack(
    photographs
    + noise
    + faint
    + few_levels
    + ramps
    + constant
    + primary
    + one_channel_flat
    + almost_constant
  )


def affine(
  position: int,
  compute_amount: Callable[[Image.Image, Any], float],
  *,
  fill: int = 0,
  resample: Image.Resampling = Image.Resampling.NEAREST,
) -> Callable[[Image.Image, Any], Image.Image]:
  """An affine map: the identity except for the coefficient at `position`."""

  def transform(image, row):
    numbers = [1, 0, 0, 0, 1, 0]
    numbers[position] = compute_amount(image, row)
    return image.transform(
      image.size,
      Image.Transform.AFFINE,
      numbers,
      resample,
      fillcolor=(fill,) * 3,
    )

  return transform


def apply(
  operation: Callable[..., Image.Image], images: np.ndarray, *rows: np.ndarray
) -> np.ndarray:
  """Applies a Pillow operation to each image."""
  return np.stack(
    [
      np.asarray(operation(Image.fromarray(image), *row))
      for image, *row in zip(images, *rows, strict=True)
    ]
  )
