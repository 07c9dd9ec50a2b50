# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Predicts the classes of images with an exported model.

  python -m launch.predict --exported_model=results/mine/export \
    --images=photos,another.jpg --output_file=predictions.csv

Images may have any size and number: only a few are in memory at a time. A model
of feature vectors takes .npy files, or .npz files with an array `features`. The
table, results/predictions.csv by default, has a row for each image or vector:
path, class_name and probability of the most probable class. The first rows are
printed. --overwrite replaces an existing file. --output_file=- writes the table
to standard output, and nothing else:

  python -m launch.predict --exported_model=results/mine/export \
    --images=photos --output_file=- | sort --field-separator=, --key=3

--adapt_shares estimates the class shares of the site that the images are from,
predicts with them, and writes them beside the table, as
predictions.class_shares.csv.
"""

from collections.abc import Iterator, Sequence
import csv
import dataclasses
import io
import itertools
import pathlib
import sys
from typing import Any, BinaryIO

from absl import logging
import numpy as np
import tqdm

from tff_semifl import settings
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.cli import site_shares
from tff_semifl.data import data_errors
from tff_semifl.data import example_kinds
from tff_semifl.data import feature_files
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.export import exported_model

# The --output_file that means standard output.
_STDOUT = '-'
# How many rows of the table are printed.
_NUM_SHOWN = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(settings.Settings):
  """The settings of this program."""

  model: parts.ExportedModel = parts.ExportedModel()
  output: parts.OutputFile = parts.OutputFile(
    output_file='results/predictions.csv'
  )
  confidence: parts.LeastConfidence = parts.LeastConfidence()
  shares: site_shares.SiteShares = site_shares.SiteShares()
  all_probabilities: bool = settings.setting(
    False,
    'Whether to write the probability of each class, in columns named'
    ' probability/<class>.',
  )
  skip_unreadable: bool = settings.setting(
    False,
    'Whether to leave out files that cannot be read. By default an error names'
    ' them all before anything is predicted.',
  )


def main(predict: Predict) -> None:
  """Writes the predictions."""
  is_stdout = predict.output.output_file == _STDOUT
  path = None if is_stdout else predict.output.check()
  shares_path = None
  if path is not None and predict.shares.adapt_shares:
    shares_path = dataclasses.replace(
      predict.output, output_file=str(path.with_suffix('.class_shares.csv'))
    ).check()
  with predict.model.blame_images(ValueError):
    if not predict.model.images:
      raise ValueError('name files or folders of images')
    files = image_listing.list_files(predict.model.images)
  model = predict.model.load()
  predict.shares.check(model)
  blamed = predict.model.blame_images(data_errors.DataError)
  if path is None:
    with blamed:
      _write_table(predict, model, files, sys.stdout.buffer)
    return
  with parts.replacing(path) as file, blamed:
    written = _write_table(predict, model, files, file)
  num_written = written.num_images
  print(f'images: {num_written}')
  for line in written.lines:
    print(line)
  if predict.skip_unreadable:
    print(f'left out, as they cannot be read: {len(files) - num_written}')
  for line in _first_rows(path):
    print(line)
  if num_written > _NUM_SHOWN:
    print(f'  and {num_written - _NUM_SHOWN} more')
  print(f'predictions: {path}')
  if shares_path is not None:
    with parts.writing(shares_path):
      site_shares.write_shares(shares_path, model.class_names, written.shares)
    print(f'class shares: {shares_path}')


@dataclasses.dataclass
class _Written:
  """What was written: counts, and what is known of class shares."""

  num_images: int = 0
  shares: np.ndarray | None = None
  lines: Sequence[str] = ()


def _write_table(
  predict: Predict,
  model: exported_model.ExportedModel,
  files: Sequence[pathlib.Path],
  output: BinaryIO,
) -> _Written:
  """Writes a CSV table with a row for each image or feature vector."""
  least_confidence = predict.confidence.value_for(
    model.class_names, model.least_confidence
  )
  # File names need not be valid text: other bytes are written unchanged.
  text = io.TextIOWrapper(output, 'utf-8', errors='surrogateescape', newline='')
  table = csv.writer(text, lineterminator='\n')
  columns = ['path', 'class_name', 'probability']
  if predict.all_probabilities:
    columns.extend(f'probability/{name}' for name in model.class_names)
  table.writerow(columns)
  written = _Written()
  for file, probabilities in _predict(predict, model, files, written):
    label = probabilities.argmax()
    name = model.class_names[label]
    if probabilities[label] < np.float32(least_confidence):
      name = exported_model.UNKNOWN
    row = [file, name, probabilities[label]]
    if predict.all_probabilities:
      row.extend(probabilities)
    table.writerow(row)
  text.flush()
  # Detached, because the caller, who opened the file, closes it.
  text.detach()
  return written


def _predict(
  predict: Predict,
  model: exported_model.ExportedModel,
  files: Sequence[pathlib.Path],
  written: _Written,
) -> Iterator[tuple[pathlib.Path, np.ndarray]]:
  """Yields the probabilities of each file, and fills in `written`."""
  batches = _read_batches(model, files, predict.skip_unreadable)
  if not predict.shares.adapts:
    for names, images in batches:
      written.num_images += len(names)
      yield from zip(names, model.predict(images), strict=True)
    return
  keys, found = [], [np.zeros([0, len(model.class_names)], np.float32)]
  inputs = site_shares.SiteInputs(model)
  for names, images in batches:
    keys.extend(names)
    found.append(model.predict(images))
    inputs.add(images)
  written.num_images = len(keys)
  probabilities, written.shares, written.lines = predict.shares.adapt(
    model, np.concatenate(found), inputs
  )
  yield from zip(keys, probabilities, strict=True)


def _read_batches(
  model: exported_model.ExportedModel,
  files: Sequence[pathlib.Path],
  skip_unreadable: bool,
) -> Iterator[tuple[list[Any], np.ndarray]]:
  """Checks all files, and returns batches of names and images or vectors."""
  read = (
    feature_files.read_batches
    if model.kind is example_kinds.FEATURES
    else image_reading.read_batches
  )
  size = model.image_shape[-1]
  if not skip_unreadable:
    problems = []
    shown = tqdm.tqdm(files, 'reading', disable=None)
    for _ in read(shown, size, on_error=problems.append):
      pass
    if problems:
      raise data_errors.DataError('; '.join(problems))
  shown = tqdm.tqdm(files, 'predicting', disable=None)
  return read(shown, size, on_error=_leave_out if skip_unreadable else None)


def _first_rows(path: pathlib.Path) -> Iterator[str]:
  """Yields the first rows of the table: file, class and probability."""
  with path.open(
    newline='', encoding='utf-8', errors='backslashreplace'
  ) as file:
    for row in itertools.islice(csv.DictReader(file), _NUM_SHOWN):
      yield (
        f'  {row["path"]}: {row["class_name"]}'
        f' ({float(row["probability"]):.1%})'
      )


def _leave_out(message: str) -> None:
  logging.warning('%s; it is left out', message)


if __name__ == '__main__':
  program.run(main, Predict())
