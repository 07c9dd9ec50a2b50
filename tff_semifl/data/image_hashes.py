# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Hashes of images, by which equal ones are found."""

import hashlib

import numpy as np

from tff_semifl.data import sources

# Of images that are on disk, so many are in memory at a time.
_BATCH_SIZE = 1024


def hash_images(images: sources.Images) -> np.ndarray:
  """Hashes images: equal ones have equal hashes, and others different ones.

  Of a million images, two different ones have the same hash with a probability
  of 3e-8.

  Args:
    images: uint8 [number, height, width, channels], not at sites, or feature
      vectors.

  Returns:
    uint64 [number].
  """
  digests = []
  for start in range(0, len(images), _BATCH_SIZE):
    batch = np.ascontiguousarray(images[start : start + _BATCH_SIZE])
    digests.extend(hashlib.sha256(image).digest()[:8] for image in batch)
  return np.frombuffer(b''.join(digests), np.uint64)
