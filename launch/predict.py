# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Predicts the classes of images with an exported model.

  python -m launch.predict --exported_model=results/mine/export \
    --images=photos,another.jpg --output_file=predictions.csv

Images may have any size, and there may be any number of them: only a few are in
memory at a time. The table, predictions.csv by default, has a row for each
image, with the columns path, class_name and probability, of its most probable
class.
"""

import contextlib
import csv
import io
import pathlib
from typing import BinaryIO

from absl import flags
from absl import logging
import tqdm

from tff_semifl.data import image_batches
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.export import exported_model
from tff_semifl.launch import exported_model_flags
from tff_semifl.launch import output_flag
from tff_semifl.launch import program
from tff_semifl.programs import durable_files

# The class of an image that the model is not sure of.
_UNKNOWN = 'unknown'

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

_LEAST_CONFIDENCE = flags.DEFINE_float(
  'least_confidence',
  0.0,
  'Least probability of the most probable class for an image to be given it;'
  f' below, the class is {_UNKNOWN}. launch.evaluate shows what share of test'
  ' images such floors leave, and how many of these are right.',
  lower_bound=0.0,
  upper_bound=1.0,
)

flags.adopt_module_key_flags(exported_model_flags)
flags.adopt_module_key_flags(output_flag)


def main() -> None:
  """Runs the program, after flags were parsed."""
  path = output_flag.one('predictions.csv')
  images = exported_model_flags.IMAGES
  with program.blame(
    images,
    ValueError,
    image_folders.ImageFolderError,
    value=','.join(images.value or ()),
  ):
    if not images.value:
      raise ValueError('name files or folders of images')
    files = image_folders.list_files(images.value)
  model = exported_model_flags.load_model()
  with program.blame(_LEAST_CONFIDENCE, ValueError):
    if _LEAST_CONFIDENCE.value > 0 and _UNKNOWN in model.class_names:
      raise ValueError(f'the model has a class {_UNKNOWN}; leave it out')
  with output_flag.writing(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable_files.replacing(path) as file:
      num_written = _predict(model, files, file)
  print(f'images: {num_written}')
  if _SKIP_UNREADABLE.value:
    print(f'left out, as they cannot be read: {len(files) - num_written}')
  print(f'predictions: {path}')


def _predict(
  model: exported_model.ExportedModel,
  files: list[pathlib.Path],
  output: BinaryIO,
) -> int:
  """Writes the table, and returns the number of images in it."""
  if not _SKIP_UNREADABLE.value:
    with _blame_images():
      image_batches.check_files(
        tqdm.tqdm(files, 'reading', disable=None), model.num_channels
      )
  # Names of files need not be valid text: other bytes are written unchanged.
  text = io.TextIOWrapper(output, 'utf-8', errors='surrogateescape', newline='')
  table = csv.writer(text, lineterminator='\n')
  columns = ['path', 'class_name', 'probability']
  if _ALL_PROBABILITIES.value:
    columns.extend(f'probability/{name}' for name in model.class_names)
  table.writerow(columns)
  num_written = 0
  batches = image_batches.read_batches(
    ((file, file) for file in tqdm.tqdm(files, 'predicting', disable=None)),
    model.num_channels,
    on_error=_leave_out if _SKIP_UNREADABLE.value else None,
  )
  with _blame_images():
    for batch in batches:
      for file, probabilities in zip(
        batch.keys, model.predict(batch.images), strict=True
      ):
        label = probabilities.argmax()
        name = model.class_names[label]
        if probabilities[label] < _LEAST_CONFIDENCE.value:
          name = _UNKNOWN
        row = [file, name, probabilities[label]]
        if _ALL_PROBABILITIES.value:
          row.extend(probabilities)
        table.writerow(row)
      num_written += len(batch.keys)
  text.flush()
  # Detached, so that the caller, who opened the file, closes it.
  text.detach()
  return num_written


def _leave_out(message: str) -> None:
  logging.warning('%s; it is left out', message)


def _blame_images() -> contextlib.AbstractContextManager[None]:
  return program.blame(
    exported_model_flags.IMAGES,
    image_files.ImageFileError,
    value=','.join(exported_model_flags.IMAGES.value),
  )


if __name__ == '__main__':
  program.run(main)
