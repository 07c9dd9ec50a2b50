# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads image files in batches, with few images in memory at a time."""

from collections.abc import Callable, Iterable, Iterator
import pathlib
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import image_files

_MAX_BATCH_SIZE = 64
# Large photos come one by one.
_MAX_BATCH_BYTES = 2**24

_Key = TypeVar('_Key')


class ImageBatch(NamedTuple, Generic[_Key]):
  """Images of one size, uint8 [batch, height, width, channels], with keys."""

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
  """Reads images in their own sizes; a change of size begins a new batch."""
  keys, images, num_transparent = [], [], 0
  for key, file in files:
    try:
      image, _, is_transparent = image_files.read_image_of_any_size(
        file, num_channels, background
      )
    except data_errors.DataError as error:
      message = f'{file} {error}'
      if on_error is None:
        raise data_errors.DataError(message) from error
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
  """Checks that all files can be read."""
  problems = []
  for file in files:
    try:
      image_files.read_image_of_any_size(file, num_channels)
    except data_errors.DataError as error:
      problems.append(f'{file} {error}')
  if problems:
    raise data_errors.DataError('; '.join(problems))
