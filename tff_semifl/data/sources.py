# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Data sets of images or features, as arrays with labels."""

from collections.abc import Iterator, Sequence
import hashlib
from typing import NamedTuple, TypeAlias

import numpy as np

from tff_semifl.data import site_images
from tff_semifl.data import stored_images

# Marks an unknown class, as in STL-10 of TFDS.
UNKNOWN_LABEL = -1
_BATCH_SIZE = 1024


# uint8 [num_images, height, width, channels], or feature vectors, float32
# [number, features]; in memory, in a file that `np.asarray` reads, or at sites.
Images: TypeAlias = (
  np.ndarray | stored_images.StoredImages | site_images.SiteImages
)


class LabeledImages(NamedTuple):
  """Images and their classes.

  Attributes:
    images: uint8 [num_images, height, width, channels]; feature vectors,
      float32 [number, features]; or indices, int64 [num_images], see
      `mapped_images`.
    labels: int32 [num_images], in 0..classes-1, or `UNKNOWN_LABEL`.
  """

  images: np.ndarray
  labels: np.ndarray

  def select(self, indices: np.ndarray) -> 'LabeledImages':
    """The images at `indices`, in that order."""
    return LabeledImages(self.images[indices], self.labels[indices])

  def batches(self, batch_size: int) -> Iterator['LabeledImages']:
    """Yields all images in order, at most `batch_size` at a time."""
    for start in range(0, len(self.labels), batch_size):
      chosen = slice(start, start + batch_size)
      yield LabeledImages(self.images[chosen], self.labels[chosen])


class ImagePool(NamedTuple):
  """The images that are partitioned among clients.

  Attributes:
    images: As in `LabeledImages`, or in a file, or at sites.
    true_labels: int32 [num_images], as in `LabeledImages`. For metrics of
      pseudo-labels only, unless clients train on labels.
  """

  images: Images
  true_labels: np.ndarray


def hash_images(images: Images) -> np.ndarray:
  """Hashes images (not at sites) or feature vectors: uint64 [number].

  A collision among a million different images has a probability of 3e-8.
  """
  digests = []
  for start in range(0, len(images), _BATCH_SIZE):
    batch = np.ascontiguousarray(images[start : start + _BATCH_SIZE])
    digests.extend(hashlib.sha256(image).digest()[:8] for image in batch)
  return np.frombuffer(b''.join(digests), np.uint64)


class TaskData(NamedTuple):
  """The images or feature vectors of a task.

  Attributes:
    train: Divided between server and clients; if `shares` is not None, all
      images are the server's.
    test: For evaluation.
    unlabeled: More images for the clients, never trained on with labels. None
      for most tasks.
    shares: Each client's int64 indices into `unlabeled`; None if the task gives
      no partition, as most do not.
    names: A name, such as the file, for each image of `train`, then of `test`,
      then of `unlabeled`. If None, an image is named by set and index.
    unlabeled_labels: int32 [number], the classes of `unlabeled`, or
      `UNKNOWN_LABEL`; None if none is known. For partitions and measurements
      only, never for training.
    client_names: A name for each client of `shares`; None if clients have
      numbers only.
  """

  train: LabeledImages
  test: LabeledImages
  unlabeled: Images | None = None
  shares: list[np.ndarray] | None = None
  names: Sequence[str] | None = None
  unlabeled_labels: np.ndarray | None = None
  client_names: Sequence[str] | None = None


def measure_pixels(
  images: np.ndarray,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
  """The mean and standard deviation of each channel, in 0..1, as two tuples.

  For the server's images only: clients' images are private. Deviations are at
  least one gray level, so that callers can divide by them.
  """
  levels = np.arange(256) / 255
  means, standard_deviations = [], []
  for channel in range(images.shape[-1]):
    # A histogram of levels is exact, and needs no copy of the images in floats.
    counts = np.zeros(256, np.int64)
    for image in images:
      counts += np.bincount(image[..., channel].ravel(), minlength=256)
    mean = np.average(levels, weights=counts)
    variance = np.average((levels - mean) ** 2, weights=counts)
    means.append(float(mean))
    standard_deviations.append(max(float(np.sqrt(variance)), 1 / 255))
  return tuple(means), tuple(standard_deviations)
