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
"""

from collections.abc import Iterator, Sequence
import csv
import io
import itertools
import pathlib
import sys
from typing import BinaryIO

from absl import flags
from absl import logging
import numpy as np
import tqdm

from tff_semifl.cli import exported_model_flags
from tff_semifl.cli import least_confidence_flag
from tff_semifl.cli import output_flag
from tff_semifl.cli import program
from tff_semifl.data import data_errors
from tff_semifl.data import example_kinds
from tff_semifl.data import feature_files
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.export import exported_model
from tff_semifl.files import durable_files

# The --output_file that means standard output.
_STDOUT = '-'
# How many rows of the table are printed.
_NUM_SHOWN = 5

_ALL_PROBABILITIES = flags.DEFINE_bool(
  'all_probabilities',
  False,
  'Whether to write the probability of each class, in columns named'
  ' probability/<class>.',
)
_SKIP_UNREADABLE = flags.DEFINE_bool(
  'skip_unreadable',
  False,
  'Whether to leave out files that cannot be read. By default an error names'
  ' them all before anything is predicted.',
)

output_flag.define_overwrite()
flags.adopt_module_key_flags(exported_model_flags)
flags.adopt_module_key_flags(least_confidence_flag)
flags.adopt_module_key_flags(output_flag)


def _write_table(
  model: exported_model.ExportedModel,
  files: Sequence[pathlib.Path],
  output: BinaryIO,
) -> tuple[int, int]:
  """Writes a CSV table with a row for each image or feature vector.

  Returns the number of rows and the number of images with transparency.
  """
  least_confidence = least_confidence_flag.check(model.class_names)
  if least_confidence is None:
    least_confidence = model.least_confidence
  # File names need not be valid text: other bytes are written unchanged.
  text = io.TextIOWrapper(output, 'utf-8', errors='surrogateescape', newline='')
  table = csv.writer(text, lineterminator='\n')
  columns = ['path', 'class_name', 'probability']
  if _ALL_PROBABILITIES.value:
    columns.extend(f'probability/{name}' for name in model.class_names)
  table.writerow(columns)
  num_written = num_transparent = 0
  for batch in _read_batches(model, files):
    for file, probabilities in zip(
      batch.keys, model.predict(batch.images), strict=True
    ):
      label = probabilities.argmax()
      name = model.class_names[label]
      if probabilities[label] < np.float32(least_confidence):
        name = exported_model.UNKNOWN
      row = [file, name, probabilities[label]]
      if _ALL_PROBABILITIES.value:
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
) -> Iterator[image_reading.ImageBatch]:
  """Checks all files, and returns batches of images or vectors."""
  on_error = _leave_out if _SKIP_UNREADABLE.value else None
  is_of_features = model.kind is example_kinds.FEATURES
  size = model.image_shape[-1]
  if on_error is None:
    checked = tqdm.tqdm(files, 'reading', disable=None)
    if is_of_features:
      for _ in feature_files.read_batches(checked, size):
        pass
    else:
      image_reading.check_files(checked, size)
  shown = tqdm.tqdm(files, 'predicting', disable=None)
  if is_of_features:
    return (
      image_reading.ImageBatch(keys, vectors, 0)
      for keys, vectors in feature_files.read_batches(
        shown, size, on_error=on_error
      )
    )
  return image_reading.read_batches(
    ((file, file) for file in shown),
    size,
    model.background,
    on_error=on_error,
  )


def main() -> None:
  """Runs the program, after flags were parsed."""
  path = output_flag.one('results/predictions.csv')
  is_stdout = str(path) == _STDOUT
  if not is_stdout:
    output_flag.check_new(path)
  with exported_model_flags.blame_images(ValueError):
    if not exported_model_flags.IMAGES.value:
      raise ValueError('name files or folders of images')
    files = image_listing.list_files(exported_model_flags.IMAGES.value)
  model = exported_model_flags.load_model()
  blamed = exported_model_flags.blame_images(data_errors.DataError)
  if is_stdout:
    with blamed:
      _write_table(model, files, sys.stdout.buffer)
    return
  with output_flag.writing(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable_files.replacing(path) as file, blamed:
      num_written, num_transparent = _write_table(model, files, file)
  print(f'images: {num_written}')
  exported_model_flags.say_transparent(model, num_transparent)
  if _SKIP_UNREADABLE.value:
    print(f'left out, as they cannot be read: {len(files) - num_written}')
  for line in _first_rows(path):
    print(line)
  if num_written > _NUM_SHOWN:
    print(f'  and {num_written - _NUM_SHOWN} more')
  print(f'predictions: {path}')


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
  program.run(main)
