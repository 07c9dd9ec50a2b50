# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads many image files: into an array in memory or on disk, or in batches.

`read` decodes with one thread per core.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
import functools
import math
import os
import pathlib
from typing import NamedTuple, TypeVar

import numpy as np
import tqdm

from tff_semifl.data import data_errors
from tff_semifl.data import image_files
from tff_semifl.data import image_storage

_MAX_BATCH_SIZE = 64
# A larger photo is a batch of its own.
_MAX_BATCH_BYTES = 2**24

_Item = TypeVar('_Item')
_Result = TypeVar('_Result')


class ImageForm(NamedTuple):
  """Size and channels to which images from files are converted.

  `size` is (height, width), or None if `image_folders` has to choose a size.
  """

  size: tuple[int, int] | None
  num_channels: int = 3

  @property
  def shape(self) -> tuple[int, int, int]:
    """Height, width and channels."""
    return (*self.size, self.num_channels)


class ReadImages(NamedTuple):
  """Images from files, uint8 [number, height, width, channels]."""

  images: np.ndarray
  num_resized: int


def read(
  files: Sequence[pathlib.Path],
  form: ImageForm,
  problems: list[data_errors.Problem],
  max_bytes_in_memory: float = math.inf,
) -> ReadImages:
  """Reads image files in the given order; appends to `problems`.

  If the images need more than `max_bytes_in_memory` in total, they are on disk.
  """
  images = _allocate((len(files), *form.shape), max_bytes_in_memory)
  num_resized = 0
  # The progress bar appears only if reading takes more than a second.
  bar = tqdm.tqdm(
    map_in_threads(functools.partial(_read_one, form), files),
    'reading',
    total=len(files),
    delay=1,
    disable=None,
  )
  for position, found in enumerate(bar):
    if isinstance(found, data_errors.Problem):
      problems.append(found)
      continue
    images[position], is_resized = found
    num_resized += is_resized
  return ReadImages(images, num_resized)


def _read_one(
  form: ImageForm, file: pathlib.Path
) -> tuple[np.ndarray, bool] | data_errors.Problem:
  try:
    return image_files.read_image(file, form.shape)
  except data_errors.DataError as error:
    return data_errors.Problem(file, str(error))


def map_in_threads(
  function: Callable[[_Item], _Result], items: Iterable[_Item]
) -> Iterator[_Result]:
  """Yields a function's results in the order of items; uses all cores."""
  pool = futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
  try:
    yield from pool.map(function, items)
  finally:
    # Cancels waiting items after an error or Ctrl-C.
    pool.shutdown(cancel_futures=True)


def _allocate(
  shape: tuple[int, int, int, int], max_bytes_in_memory: float
) -> np.ndarray:
  """Allocates an array, on disk if larger than `max_bytes_in_memory`."""
  what = f'{shape[0]} images of {shape[1]}x{shape[2]}'
  size = math.prod(shape)
  if size <= max_bytes_in_memory:
    try:
      return np.zeros(shape, np.uint8)
    except (MemoryError, ValueError) as error:
      raise data_errors.DataError(
        f'{what} do not fit into the memory', 'image_size'
      ) from error
  try:
    return image_storage.create_stored(shape)
  except (OSError, OverflowError) as error:
    raise data_errors.DataError(
      f'{what} are {size / 1e9:,.1f} GB, for which there is no room in'
      f' {image_storage.storage_folder()}'
      f' ({getattr(error, "strerror", error)}); set TMPDIR to a folder on a'
      ' larger disk, or choose a smaller image_size',
      'image_size',
    ) from error


def read_batches(
  files: Iterable[pathlib.Path], num_channels: int
) -> Iterator[tuple[list[pathlib.Path], np.ndarray]]:
  """Yields files with their images, uint8 [batch, height, width, channels].

  Images keep their sizes; images of another size begin a new batch. Raises one
  `DataError` that names all unreadable files.
  """
  paths, images, problems = [], [], []
  for path in files:
    try:
      image = image_files.read_image_of_any_size(path, num_channels)
    except data_errors.DataError as error:
      problems.append(f'{path} {error}')
    if problems:
      continue
    if images and (
      image.shape != images[0].shape
      or len(images) == _MAX_BATCH_SIZE
      or (len(images) + 1) * image.nbytes > _MAX_BATCH_BYTES
    ):
      yield paths, np.stack(images)
      paths, images = [], []
    paths.append(path)
    images.append(image)
  if problems:
    raise data_errors.DataError('; '.join(problems))
  if images:
    yield paths, np.stack(images)
