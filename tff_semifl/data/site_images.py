# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Images that are at sites, and not in this process."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from tff_semifl.runtime import sites


class NotHereError(Exception):
  """Raised where images are needed that stay at their sites."""


class SiteImages:
  """The images of sites, each of which stands for all of its images.

  They take the place of an array uint8 [number, height, width, channels], with
  a row for each site. Its rows can be chosen, but nobody here can read them.

  Attributes:
    names: The names of the sites.
    dtype: That of the images, uint8.
  """

  dtype = np.dtype(np.uint8)

  def __init__(self, names: Sequence[str], image_shape: sites.ImageShape):
    """Initializes the images.

    Args:
      names: The names of the sites.
      image_shape: Height, width and channels.
    """
    self.names = tuple(names)
    self._image_shape = image_shape

  @property
  def shape(self) -> tuple[int, ...]:
    """Number of sites, height, width and channels."""
    return (len(self.names), *self._image_shape)

  def __len__(self) -> int:
    """Returns the number of sites."""
    return len(self.names)

  def __getitem__(self, key: slice | np.ndarray) -> 'SiteImages':
    """Returns those of some sites."""
    names = np.asarray(self.names, object)[key]
    return SiteImages(names.tolist(), self._image_shape)

  def __array__(self, dtype: np.dtype | None = None) -> NoReturn:
    """Refuses to read."""
    del dtype  # There is nothing to convert.
    raise NotHereError(
      'the images stay at the sites, and what was chosen needs them in one'
      ' place'
    )

  def dataset(self, fields: Mapping[str, np.generic]) -> sites.SiteDataset:
    """Returns the dataset of the one site that these images are of.

    Args:
      fields: Scalars of the chunk, by name and in order.
    """
    [name] = self.names
    return sites.SiteDataset(name, dict(fields), self._image_shape)
