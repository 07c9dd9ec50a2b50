# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Image data sets as arrays with labels, and their loading from TFDS."""

from collections.abc import Iterator, Sequence
import contextlib
import pathlib
import re
import sys
import textwrap
from typing import NamedTuple, TypeAlias

import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download import downloader

from tff_semifl.data import site_images
from tff_semifl.data import stored_images

# With TFDS' own number, 10, it takes more than three minutes to find out that
# there is no network; with this one, ten seconds.
downloader.MAX_RETRIES = 5

# In place of an unknown class, as in TFDS' STL-10.
UNKNOWN_LABEL = -1


class DataNotFoundError(Exception):
  """Raised if a data set is not in the data folder and cannot be downloaded."""


# uint8 [num_images, height, width, channels], in memory, or in a file that
# `np.asarray` reads, or at sites, where nothing here reads them.
Images: TypeAlias = (
  np.ndarray | stored_images.StoredImages | site_images.SiteImages
)


class LabeledImages(NamedTuple):
  """Images and their classes.

  Attributes:
    images: uint8 [num_images, height, width, channels]; by reference (see
      `mapped_images`) int64 [num_images].
    labels: int32 [num_images], in 0..classes-1, or `UNKNOWN_LABEL`.
  """

  images: np.ndarray
  labels: np.ndarray

  def select(self, indices: np.ndarray) -> 'LabeledImages':
    """Returns the images at `indices`, in that order."""
    return LabeledImages(self.images[indices], self.labels[indices])

  def batches(self, batch_size: int) -> Iterator['LabeledImages']:
    """Yields all images in order, at most `batch_size` at a time."""
    for start in range(0, len(self.labels), batch_size):
      chosen = slice(start, start + batch_size)
      yield LabeledImages(self.images[chosen], self.labels[chosen])


class ImagePool(NamedTuple):
  """The images that are shared out among clients.

  Attributes:
    images: As in `LabeledImages`, or in a file.
    true_labels: int32 [num_images], as in `LabeledImages`. They measure
      pseudo-labels; no client gets to see them, unless clients are labeled.
  """

  images: Images
  true_labels: np.ndarray


def measure_pixels(
  images: np.ndarray,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
  """Measures mean and standard deviation of each channel, in 0..1.

  It is meant for the server's images: those of clients stay with them.

  Args:
    images: uint8 [num_images, height, width, channels], at least one.

  Returns:
    Two tuples. A standard deviation is at least one gray level, so that
    dividing by it does no harm where a channel is constant.
  """
  levels = np.arange(256) / 255
  means, standard_deviations = [], []
  for channel in range(images.shape[-1]):
    # Of the 256 levels: exact, and without a copy of the images in floats.
    counts = np.zeros(256, np.int64)
    for image in images:
      counts += np.bincount(image[..., channel].ravel(), minlength=256)
    mean = np.average(levels, weights=counts)
    variance = np.average((levels - mean) ** 2, weights=counts)
    means.append(float(mean))
    standard_deviations.append(max(float(np.sqrt(variance)), 1 / 255))
  return tuple(means), tuple(standard_deviations)


def load_tfds(
  name: str, splits: Sequence[str], data_dir: str | None
) -> list[LabeledImages]:
  """Loads splits of an image data set of TensorFlow Datasets.

  The set is downloaded on first use, unless `data_dir` already has it.

  Args:
    name: Name of the data set, such as 'cifar10'.
    splits: Names of splits, such as 'train'.
    data_dir: A TFDS folder, or None for TFDS' own default.

  Returns:
    The images of each split, in the order of `splits`.

  Raises:
    DataNotFoundError: If the data cannot be had. The message says where it was
      looked for and what to do.
  """
  builder = _prepare(name, data_dir, may_download=True)
  return [_read_split(builder, split) for split in splits]


def load_tfds_split(
  name: str, split: str, data_dir: str | None, *, may_download: bool
) -> LabeledImages:
  """Loads one split, as `load_tfds` does.

  Args:
    name: Name of the data set.
    split: Name of the split.
    data_dir: A TFDS folder, or None for TFDS' own default.
    may_download: Whether to download the set if it is not there.

  Returns:
    The images of the split.

  Raises:
    DataNotFoundError: If it is not there, or cannot be downloaded either.
  """
  return _read_split(_prepare(name, data_dir, may_download), split)


def _prepare(
  name: str, data_dir: str | None, may_download: bool
) -> tfds.core.DatasetBuilder:
  """Returns a data set's builder, after downloading the set if needed."""
  if data_dir is not None and not pathlib.Path(data_dir).is_dir():
    raise DataNotFoundError(
      'there is no such folder; name one that has the data, or make it to'
      ' download into'
    )
  try:
    # Its messages on downloads are not a result of the program.
    with contextlib.redirect_stdout(sys.stderr):
      builder = tfds.builder(name, data_dir=data_dir)
      if may_download:
        builder.download_and_prepare()
  # Networks and mirrors fail with errors of many types.
  except Exception as error:
    raise DataNotFoundError(
      f'data set {name!r} is not in {data_dir or tfds.core.constants.DATA_DIR}'
      f' and could not be downloaded ({_first_line(error)}); name a folder that'
      ' has it, or connect to the network'
    ) from error
  if not builder.is_prepared():
    raise DataNotFoundError(
      f'data set {name!r} is not in {data_dir or tfds.core.constants.DATA_DIR}'
    )
  return builder


def _read_split(builder: tfds.core.DatasetBuilder, split: str) -> LabeledImages:
  try:
    # One batch of everything: TFDS decodes in parallel and keeps the order.
    dataset = builder.as_dataset(split=split, batch_size=-1, as_supervised=True)
    images, labels = tfds.as_numpy(dataset)
  # TFDS and TensorFlow report damaged files by errors of many types.
  except Exception as error:
    raise DataNotFoundError(
      f'split {split!r} of data set {builder.name!r} cannot be read'
      f' ({_first_line(error)}); with {builder.data_dir} removed, it would be'
      ' downloaded again'
    ) from error
  return LabeledImages(images, labels.astype(np.int32))


def _first_line(error: Exception) -> str:
  # TensorFlow begins and ends with names of operations.
  text = re.sub(r'^{{.*?}} | \[Op:.*', '', str(error).strip())
  lines = text.splitlines()
  return textwrap.shorten(lines[0], 150) if lines else type(error).__name__
