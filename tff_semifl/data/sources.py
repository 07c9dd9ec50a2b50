# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Images or features of a task: in memory, in a file on disk, or at sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import hashlib
from typing import NamedTuple, TypeAlias

import numpy as np

from tff_semifl.data import image_storage

# Marks an unknown class.
UNKNOWN_LABEL = -1
_BATCH_SIZE = 1024
# The number of examples in a line on equal images, and of images in an example.
_NUM_NAMED = 3
# Height, width and channels, or the number of features.
ExampleShape = tuple[int, ...]


class ExampleKind(NamedTuple):
  """The properties of a kind of examples: images or feature vectors."""

  name: str  # The plural noun.
  dtype: np.dtype  # Of values, in data and in computations.
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


# uint8 [num_images, height, width, channels], or feature vectors, float32
# [number, features].
Images: TypeAlias = np.ndarray | image_storage.SiteImages


class LabeledImages(NamedTuple):
  """Images and their classes.

  Attributes:
    images: uint8 [num_images, height, width, channels], or feature vectors,
      float32 [number, features].
    labels: int32 [num_images], in 0..classes-1, or `UNKNOWN_LABEL`.
  """

  images: np.ndarray
  labels: np.ndarray

  def select(self, indices: np.ndarray) -> LabeledImages:
    """The images at `indices`, in that order."""
    return LabeledImages(self.images[indices], self.labels[indices])

  def batches(self, batch_size: int) -> Iterator[LabeledImages]:
    """Yields all images in order, at most `batch_size` at a time."""
    for start in range(0, len(self.labels), batch_size):
      chosen = slice(start, start + batch_size)
      yield LabeledImages(self.images[chosen], self.labels[chosen])


class ImagePool(NamedTuple):
  """The images that are partitioned among clients.

  `true_labels` are int32 [num_images]. Labeled clients train on true labels;
  otherwise true labels are only for metrics of pseudo-labels.
  """

  images: Images
  true_labels: np.ndarray

  def select(self, indices: np.ndarray) -> ImagePool:
    """The images at `indices`; images in a file stay in a file."""
    images = self.images
    if not isinstance(images, np.memmap) or not len(indices):
      return ImagePool(images[indices], self.true_labels[indices])
    found = image_storage.create_stored((len(indices), *images.shape[1:]))
    for start in range(0, len(indices), _BATCH_SIZE):
      chosen = slice(start, start + _BATCH_SIZE)
      found[chosen] = images[indices[chosen]]
    return ImagePool(found, self.true_labels[indices])


class TaskData(NamedTuple):
  """The images or feature vectors of a task.

  Attributes:
    train: Images to divide between server and clients; if `shares` is not None,
      all are the server's.
    test: Images for evaluation.
    unlabeled: More images for clients, without labels in training. None for
      most tasks.
    shares: Each client's int64 indices into `unlabeled`; None if the task does
      not define the partition, as for most tasks.
    names: A name, such as the file, for each image of `train`, then `test`,
      then `unlabeled`. If None, messages name images like `test[3]`.
    unlabeled_labels: int32 [number], the classes of `unlabeled`, or
      `UNKNOWN_LABEL`; None if none is known. They are for partitions and
      metrics; only `labeled_clients` train on them.
    client_names: A name for each client of `shares`; None if clients have only
      numbers.
    labeled_clients: The numbers of clients that have labels to train on, if the
      system lets clients train on labels.
  """

  train: LabeledImages
  test: LabeledImages
  unlabeled: Images | None = None
  shares: list[np.ndarray] | None = None
  names: Sequence[str] | None = None
  unlabeled_labels: np.ndarray | None = None
  client_names: Sequence[str] | None = None
  labeled_clients: Sequence[int] = ()

  @property
  def server_images(self) -> np.ndarray:
    """The images for statistics: `train`, or `test` if `train` is empty."""
    return (self.train if len(self.train.labels) else self.test).images


def hash_images(images: Images) -> np.ndarray:
  """Hashes of images or feature vectors, uint64 [number].

  Not for images at sites. A million images collide with a probability of 3e-8.
  """
  digests = []
  for start in range(0, len(images), _BATCH_SIZE):
    batch = np.ascontiguousarray(images[start : start + _BATCH_SIZE])
    digests.extend(hashlib.sha256(image).digest()[:8] for image in batch)
  return np.frombuffer(b''.join(digests), np.uint64)


def describe_equal_images(
  images: TaskData,
  groups: Mapping[str, LabeledImages | ImagePool],
  test: LabeledImages,
  evaluated: str,
) -> Iterator[str]:
  """Yields messages on images in both training and test, or with two labels.

  Images are equal if all pixels are equal, at the size used in training.
  `groups` maps names in messages to training images. `test` has the images for
  evaluation, and `evaluated` is 'test' or 'validation'. Images at sites are not
  compared.
  """
  parts = [images.train.images, images.test.images]
  if not isinstance(images.unlabeled, image_storage.SiteImages | None):
    parts.append(images.unlabeled)
  hashes = np.concatenate([*map(hash_images, parts)])
  if len(np.unique(hashes)) == len(hashes):
    return

  def name_examples(found: np.ndarray) -> str:
    return '; '.join(
      ' = '.join(
        _name_image(images, index)
        for index in np.flatnonzero(hashes == each)[:_NUM_NAMED]
      )
      for each in np.unique(found)[:_NUM_NAMED]
    )

  tested = hash_images(test.images)
  all_hashes, all_labels = [tested], [test.labels]
  for name, (of_group, labels) in groups.items():
    if isinstance(of_group, image_storage.SiteImages):
      continue
    all_hashes.append(hash_images(of_group))
    all_labels.append(labels)
    found = tested[np.isin(tested, all_hashes[-1])]
    if len(found):
      yield (
        f'{len(found)} of {len(tested)} {evaluated} images are also {name}'
        f' ({name_examples(found)}); accuracy on them says nothing of new'
        ' images'
      )
  labels = np.concatenate(all_labels).astype(np.uint64)
  is_known = np.concatenate(all_labels) != UNKNOWN_LABEL
  pairs = np.stack([np.concatenate(all_hashes), labels])[:, is_known]
  labeled, counts = np.unique(np.unique(pairs, axis=1)[0], return_counts=True)
  found = labeled[counts > 1]
  if len(found):
    yield (
      f'{len(found)} different images have more than one label'
      f' ({name_examples(found)})'
    )


def _name_image(images: TaskData, index: int) -> str:
  """An image's file name, or its position in the arrays."""
  num_train, num_test = len(images.train.labels), len(images.test.labels)
  if images.names is not None:
    return images.names[index]
  if index < num_train:
    return f'train[{index}]'
  if index < num_train + num_test:
    return f'test[{index - num_train}]'
  return f'unlabeled[{index - num_train - num_test}]'
