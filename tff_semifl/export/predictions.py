# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""CSV tables of an exported model's predictions."""

from collections.abc import Callable, Iterator, Sequence
import csv
import io
import pathlib
from typing import BinaryIO

import numpy as np
import tqdm

from tff_semifl.data import example_kinds
from tff_semifl.data import feature_files
from tff_semifl.data import image_batches
from tff_semifl.export import exported_model


def write_table(
  model: exported_model.ExportedModel,
  files: Sequence[pathlib.Path],
  output: BinaryIO,
  *,
  all_probabilities: bool = False,
  least_confidence: float | None = None,
  on_error: Callable[[str], None] | None = None,
) -> tuple[int, int]:
  """Writes a CSV table with a row for each image or feature vector.

  Args:
    all_probabilities: Whether to write the probability of every class, not just
      of the most probable one.
    least_confidence: Confidence threshold, in [0, 1]; images whose most
      probable class has a lower probability get the class
      `exported_model.UNKNOWN`. By default that of the model.
  """
  if least_confidence is None:
    least_confidence = model.least_confidence
  batches = _read_batches(model, files, on_error)
  # File names need not be valid text: other bytes are written unchanged.
  text = io.TextIOWrapper(output, 'utf-8', errors='surrogateescape', newline='')
  table = csv.writer(text, lineterminator='\n')
  columns = ['path', 'class_name', 'probability']
  if all_probabilities:
    columns.extend(f'probability/{name}' for name in model.class_names)
  table.writerow(columns)
  num_written = num_transparent = 0
  for batch in batches:
    for file, probabilities in zip(
      batch.keys, model.predict(batch.images), strict=True
    ):
      label = probabilities.argmax()
      name = model.class_names[label]
      if probabilities[label] < np.float32(least_confidence):
        name = exported_model.UNKNOWN
      row = [file, name, probabilities[label]]
      if all_probabilities:
        row.extend(probabilities)
      table.writerow(row)
    num_written += len(batch.keys)
    num_transparent += batch.num_transparent
  text.flush()
  # Detached, because the caller, who opened the file, closes it.
  text.detach()
  return num_written, num_transparent


def _read_batches(
  model: exported_model.ExportedModel,
  files: Sequence[pathlib.Path],
  on_error: Callable[[str], None] | None,
) -> Iterator[image_batches.ImageBatch]:
  """Batches of the files' contents; see `write_table`."""
  is_of_features = model.kind is example_kinds.FEATURES
  size = model.image_shape[-1]
  if on_error is None:
    checked = tqdm.tqdm(files, 'reading', disable=None)
    if is_of_features:
      for _ in feature_files.read_batches(checked, size):
        pass
    else:
      image_batches.check_files(checked, size)
  shown = tqdm.tqdm(files, 'predicting', disable=None)
  if is_of_features:
    return (
      image_batches.ImageBatch(keys, vectors, 0)
      for keys, vectors in feature_files.read_batches(
        shown, size, on_error=on_error
      )
    )
  return image_batches.read_batches(
    ((file, file) for file in shown),
    size,
    model.background,
    on_error=on_error,
  )
