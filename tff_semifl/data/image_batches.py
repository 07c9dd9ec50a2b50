# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Image files in batches: any number of them, and few at a time in memory."""

from collections.abc import Callable, Iterable, Iterator
import pathlib
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tff_semifl.data import image_files

_MAX_BATCH_SIZE = 64
# A batch of photos, which have about this many pixels each, is a single photo.
_MAX_BATCH_BYTES = 2**24

_Key = TypeVar('_Key')


class ImageBatch(NamedTuple, Generic[_Key]):
  """Some images of one size.

  Attributes:
    keys: The keys that the caller gave the images, in order.
    images: uint8 [batch, height, width, channels].
    num_transparent: How many are transparent somewhere in their files.
  """

  keys: list[_Key]
  images: np.ndarray
  num_transparent: int


def read_batches(
  files: Iterable[tuple[_Key, pathlib.Path]],
  num_channels: int,
  background: image_files.Color,
  *,
  on_error: Callable[[str], None] | None = None,
) -> Iterator[ImageBatch[_Key]]:
  """Reads images in the sizes that they have.

  Args:
    files: The files, each with a key.
    num_channels: 3 for colors, 1 for gray.
    background: The color behind what is transparent.
    on_error: Called for a file that cannot be read, which is then left out,
      with its name and the reason. By default that is an error.

  Yields:
    Batches, in the order of the files; a new one where the size changes.

  Raises:
    image_files.ImageFileError: If one cannot be read and `on_error` is None.
  """
  keys, images, num_transparent = [], [], 0
  for key, file in files:
    try:
      image, _, is_transparent = image_files.read_image_of_any_size(
        file, num_channels, background
      )
    except image_files.ImageFileError as error:
      message = f'{file} {error}'
      if on_error is None:
        raise image_files.ImageFileError(message) from error
      on_error(message)
      continue
    if images and (
      image.shape != images[0].shape
      or len(images) == _MAX_BATCH_SIZE
      or (len(images) + 1) * image.nbytes > _MAX_BATCH_BYTES
    ):
      yield ImageBatch(keys, np.stack(images), num_transparent)
      keys, images, num_transparent = [], [], 0
    keys.append(key)
    images.append(image)
    num_transparent += is_transparent
  if images:
    yield ImageBatch(keys, np.stack(images), num_transparent)


def check_files(files: Iterable[pathlib.Path], num_channels: int) -> None:
  """Checks that all files can be read, one at a time.

  Args:
    files: The files.
    num_channels: 3 for colors, 1 for gray.

  Raises:
    image_files.ImageFileError: If some cannot be read. The message names all.
  """
  problems = []
  for file in files:
    try:
      image_files.read_image_of_any_size(file, num_channels)
    except image_files.ImageFileError as error:
      problems.append(f'{file} {error}')
  if problems:
    raise image_files.ImageFileError('; '.join(problems))
