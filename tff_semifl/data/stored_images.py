# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Images in a file on disk, for more images than fit into memory."""

import math
import os
import pathlib
import tempfile
from typing import IO

import numpy as np

from tff_semifl.data import example_kinds


class StoredImages:
  """Images in a file, read when they are used.

  An object replaces an array of images, uint8 [number, height, width,
  channels], or of feature vectors, float32 [number, features]. A slice or an
  array of indices selects rows without reading; `np.asarray` reads. The file is
  anonymous, and freed with the last object that refers to the file, or with
  this process.
  """

  def __init__(
    self, file: IO[bytes], image_shape: tuple[int, ...], rows: np.ndarray
  ):
    """Initializes the images; `rows` are the selected rows, int64 [number]."""
    self._file = file
    self.dtype = example_kinds.kind_of(image_shape).dtype
    self._image_shape = image_shape
    self._rows = rows

  @property
  def shape(self) -> tuple[int, ...]:
    return (len(self._rows), *self._image_shape)

  @property
  def path(self) -> str:
    """The path of the file for other processes of this user."""
    return f'/proc/{os.getpid()}/fd/{self._file.fileno()}'

  def __len__(self) -> int:
    return len(self._rows)

  def __getitem__(self, key: slice | np.ndarray) -> 'StoredImages':
    return StoredImages(self._file, self._image_shape, self._rows[key])

  def __setitem__(self, number: int, image: np.ndarray) -> None:
    os.pwrite(
      self._file.fileno(),
      np.ascontiguousarray(image, self.dtype).data,
      self._offset(self._rows[number]),
    )

  def __array__(self, dtype: np.dtype | None = None) -> np.ndarray:
    images = np.empty(self.shape, self.dtype)
    # Pages of a memory map would count as memory of this process.
    for image, row in zip(images, self._rows, strict=True):
      os.preadv(self._file.fileno(), [image.data], self._offset(row))
    return images.astype(dtype or self.dtype, copy=False)

  def _offset(self, row: int) -> int:
    return int(row) * math.prod(self._image_shape) * self.dtype.itemsize


def folder() -> pathlib.Path:
  """The folder for files of images: $TMPDIR, by default /var/tmp.

  Not /tmp, which is in memory on many systems.
  """
  return pathlib.Path(os.environ.get('TMPDIR') or '/var/tmp')


def create(shape: tuple[int, ...]) -> StoredImages:
  """Creates a file of images that are all zeros."""
  file = tempfile.TemporaryFile(dir=folder())
  stored = StoredImages(file, shape[1:], np.arange(shape[0]))
  if size := math.prod(shape) * stored.dtype.itemsize:
    # A full disk fails here, rather than after minutes of reading photos.
    os.posix_fallocate(file.fileno(), 0, size)
  return stored
