# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Real photos, which come with scikit-learn."""

import numpy as np
from sklearn import datasets

# An image shows 300x300 of a photo's 427x640 pixels.
_NUM_PIXELS = 300


def load_photos(num_images: int, size: int) -> np.ndarray:
  """Returns parts of two photos, one of a palace and one of a flower."""
  photos = datasets.load_sample_images().images
  stride = _NUM_PIXELS // size
  generator = np.random.default_rng(0)
  images = []
  for index in range(num_images):
    photo = photos[index % len(photos)]
    top, left = (
      generator.integers(length - stride * size + 1)
      for length in photo.shape[:2]
    )
    part = photo[top:, left:][: stride * size, : stride * size]
    images.append(part[::stride, ::stride])
  return np.stack(images)
