# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads many image files into one array, in memory or on disk.

Each core decodes in a thread.
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

from tff_semifl.data import image_files
from tff_semifl.data import image_listing
from tff_semifl.data import sources
from tff_semifl.data import stored_images

_Item, _Result = TypeVar('_Item'), TypeVar('_Result')


class LargeImageError(image_listing.ImageFolderError):
  """Raised if images are larger than the default limit, or than the memory."""


class StorageError(image_listing.ImageFolderError):
  """Raised if the disk has no room for images."""


class ImageForm(NamedTuple):
  """The form that images of files are converted to.

  Attributes:
    shape: Height, width and channels.
    on_odd_size: The treatment of images of another size.
    background: The color behind transparent pixels.
  """

  shape: tuple[int, int, int]
  on_odd_size: image_files.OnOddSize
  background: image_files.Color = image_files.WHITE


class ReadImages(NamedTuple):
  """Images that were read from files.

  Attributes:
    images: uint8 [number, height, width, channels], in memory or on disk.
    num_resized: The number of images whose files have another size.
    num_transparent: The number of images with transparent pixels.
  """

  images: np.ndarray | stored_images.StoredImages
  num_resized: int
  num_transparent: int


def read(
  files: Sequence[pathlib.Path],
  form: ImageForm,
  problems: list[image_listing.Problem],
  max_bytes_in_memory: float = math.inf,
) -> ReadImages:
  """Reads image files, in their order; appends `problems`.

  Images of more than `max_bytes_in_memory` are kept on disk.
  """
  # Reading into place avoids a second copy of all images.
  images = _make_room((len(files), *form.shape), max_bytes_in_memory)
  num_resized = num_transparent = 0
  # No progress bar for less than a second.
  bar = tqdm.tqdm(
    map_in_threads(functools.partial(_read_one, form), files),
    'reading',
    total=len(files),
    delay=1,
    disable=None,
  )
  for position, found in enumerate(bar):
    if isinstance(found, image_listing.Problem):
      problems.append(found)
      continue
    images[position] = found.pixels
    num_resized += found.is_resized
    num_transparent += found.is_transparent
  return ReadImages(images, num_resized, num_transparent)


def _read_one(
  form: ImageForm, file: pathlib.Path
) -> image_files.DecodedImage | image_listing.Problem:
  """A file's image, or its problem."""
  try:
    return image_files.read_image(file, *form)
  except image_files.ImageFileError as error:
    is_odd_size = isinstance(error, image_files.OddSizeError)
    return image_listing.Problem(file, str(error), is_odd_size)


def map_in_threads(
  function: Callable[[_Item], _Result], items: Iterable[_Item]
) -> Iterator[_Result]:
  """Maps a function over items with a thread per core, in order."""
  pool = futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
  try:
    yield from pool.map(function, items)
  finally:
    # Cancels waiting items after an error or Ctrl-C.
    pool.shutdown(cancel_futures=True)


def _make_room(
  shape: tuple[int, int, int, int], max_bytes_in_memory: float
) -> sources.Images:
  """An array or file for images of a shape."""
  what = f'{shape[0]} images of {shape[1]}x{shape[2]}'
  size = math.prod(shape)
  if size <= max_bytes_in_memory:
    try:
      return np.zeros(shape, np.uint8)
    except (MemoryError, ValueError) as error:
      raise LargeImageError(f'{what} do not fit into the memory') from error
  try:
    return stored_images.create(shape)
  except (OSError, OverflowError) as error:
    raise StorageError(
      f'{what} are {size / 1e9:,.1f} GB, for which there is no room in'
      f' {stored_images.folder()} ({getattr(error, "strerror", error)}); name a'
      ' folder on a larger disk by the environment variable TMPDIR, or choose a'
      ' smaller image_size'
    ) from error
