# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Handles to images that stay at sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tff_semifl.data import data_errors

if TYPE_CHECKING:
  from tff_semifl.runtime import sites


class SiteImages:
  """Handles to the images that sites hold, one for each site.

  The handles replace an array, uint8 [number, height, width, channels], with a
  row for each site. Rows can be selected, but not read.

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
    """Raises a `DataError`, as the images cannot be read here."""
    del dtype
    raise data_errors.DataError(
      'the images stay at the sites, and the chosen settings need them in one'
      ' place',
      'sites',
    )

  def dataset(self, fields: Mapping[str, np.generic]) -> sites.SiteDataset:
    """The dataset of a single site; `fields` are the chunk's scalars."""
    # The runtime imports TFF, which prediction does not need.
    from tff_semifl.runtime import sites

    [name] = self.names
    return sites.SiteDataset(name, dict(fields), self._image_shape)
