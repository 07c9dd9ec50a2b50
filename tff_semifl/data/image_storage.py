# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Images that are not in memory: in a file, or at sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, NoReturn
import weakref

import numpy as np

from tff_semifl.data import data_errors

if TYPE_CHECKING:
  from tff_semifl.runtime import sites


def storage_folder() -> pathlib.Path:
  """The folder for files of images: $TMPDIR, by default /var/tmp.

  /tmp is in memory on many systems.
  """
  return pathlib.Path(os.environ.get('TMPDIR') or '/var/tmp')


def create_stored(shape: tuple[int, ...]) -> np.memmap:
  """Creates an array of zeros, uint8, that is mapped from a file.

  The file is anonymous; its space is freed with the array or process. Other
  processes of this user can open the file by the array's `filename`.
  """
  file = tempfile.TemporaryFile(dir=storage_folder())
  # A full disk fails here, rather than after minutes of reading photos.
  os.posix_fallocate(file.fileno(), 0, math.prod(shape))
  path = f'/proc/{os.getpid()}/fd/{file.fileno()}'
  images = np.memmap(path, np.uint8, 'r+', shape=shape)
  weakref.finalize(images, file.close)
  return images


class SiteImages:
  """Handles to the images that sites hold, one for each site.

  The handles stand in for an array, uint8 [sites, height, width, channels].
  Rows can be selected, but not read.

  Attributes:
    names: The names of the sites.
    dtype: The dtype of the images, uint8.
  """

  dtype = np.dtype(np.uint8)

  def __init__(self, names: Sequence[str], image_shape: sites.ImageShape):
    self.names = tuple(names)
    self._image_shape = image_shape

  @property
  def shape(self) -> tuple[int, ...]:
    return (len(self.names), *self._image_shape)

  def __len__(self) -> int:
    return len(self.names)

  def __getitem__(self, key: slice | np.ndarray) -> SiteImages:
    names = np.asarray(self.names, object)[key]
    return SiteImages(names.tolist(), self._image_shape)

  def __array__(self, dtype: np.dtype | None = None) -> NoReturn:
    """Raises a `DataError`, because the images cannot be read here."""
    del dtype
    raise data_errors.DataError(
      'the images stay at the sites, and the chosen settings need them in one'
      ' place',
      'sites',
    )

  def dataset(self, fields: Mapping[str, np.generic]) -> sites.SiteDataset:
    """The dataset of a single site, with scalars `fields` before the images."""
    # The runtime imports TFF, which prediction does not need.
    from tff_semifl.runtime import sites

    [name] = self.names
    return sites.SiteDataset(name, dict(fields), self._image_shape)
