# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Image data sets of TensorFlow Datasets (TFDS)."""

from collections.abc import Sequence
import contextlib
import pathlib
import re
import sys
import textwrap

import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download import downloader

from tff_semifl.data import data_errors
from tff_semifl.data import sources

# Without a network, TFDS's default of 10 retries takes more than three minutes
# to fail; 5 retries take ten seconds.
downloader.MAX_RETRIES = 5


def load(
  name: str,
  splits: Sequence[str],
  data_dir: str | None,
  *,
  may_download: bool = True,
) -> list[sources.LabeledImages]:
  """Loads splits of an image data set, and downloads it on first use.

  `data_dir` is a folder of TFDS; None for TFDS's default folder.
  """
  if data_dir is not None and not pathlib.Path(data_dir).is_dir():
    raise data_errors.DataError(
      'there is no such folder; create it to download into'
    )
  try:
    # Messages about downloads are not results of the program.
    with contextlib.redirect_stdout(sys.stderr):
      builder = tfds.builder(name, data_dir=data_dir)
      if may_download:
        builder.download_and_prepare()
  # Networks and mirrors fail with errors of many types.
  except Exception as error:
    raise data_errors.DataError(
      f'data set {name!r} is not in {data_dir or tfds.core.constants.DATA_DIR}'
      f' and could not be downloaded ({_first_line(error)}); name a folder that'
      ' has it'
    ) from error
  if not builder.is_prepared():
    raise data_errors.DataError(
      f'data set {name!r} is not in {data_dir or tfds.core.constants.DATA_DIR}'
    )
  return [_read_split(builder, split) for split in splits]


def _read_split(
  builder: tfds.core.DatasetBuilder, split: str
) -> sources.LabeledImages:
  try:
    # In one batch, TFDS decodes images in parallel and keeps their order.
    dataset = builder.as_dataset(split=split, batch_size=-1, as_supervised=True)
    images, labels = tfds.as_numpy(dataset)
  # TFDS and TensorFlow raise errors of many types for damaged files.
  except Exception as error:
    raise data_errors.DataError(
      f'split {split!r} of data set {builder.name!r} cannot be read'
      f' ({_first_line(error)}); with {builder.data_dir} removed, it would be'
      ' downloaded again'
    ) from error
  return sources.LabeledImages(images, labels.astype(np.int32))


def _first_line(error: Exception) -> str:
  # TensorFlow's messages begin and end with names of operations.
  text = re.sub(r'^{{.*?}} | \[Op:.*', '', str(error).strip())
  lines = text.splitlines()
  return textwrap.shorten(lines[0], 150) if lines else type(error).__name__
