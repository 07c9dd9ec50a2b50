# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Exports a trained model to SavedModel and TFLite, and tests the result."""

from collections.abc import Iterator, Sequence
import dataclasses
import fnmatch
import math
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf
import tqdm

from tff_semifl import settings
from tff_semifl.data import partition
from tff_semifl.data import sources
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import progress
from tff_semifl.export import saved_model
from tff_semifl.export import scores as scores_lib
from tff_semifl.export import tflite
from tff_semifl.label_shift import share_prior
from tff_semifl.privacy import privacy_statement

SAVED_MODEL = 'saved_model'
TFLITE_INT8 = 'tflite_int8'
_TFLITE = {f'tflite_{each.value}': each for each in tflite.Precision}
NAMES = (SAVED_MODEL, *_TFLITE)
# The name that stands for all TFLite formats.
ALL_TFLITE = 'tflite'

CARD = 'README.md'
CONFUSION_FIGURE = 'confusion_matrix.png'
# All files that an export may write.
_FILES = (
  'saved_model.pb',
  'fingerprint.pb',
  'variables',
  'assets',
  'model_*.tflite',
  tflite.LABELS_FILE,
  privacy_statement.NAME,
  share_prior.NAME,
  CARD,
  CONFUSION_FIGURE,
)

_BATCH_SIZE = 250
# More images would take longer, and would hardly change the ranges of values.
_MAX_CALIBRATION_IMAGES = 500


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportedFile:
  """A model exported in one format.

  `file` is the path in the folder of the export; `scores` are the results on
  the test images, None if not tested.
  """

  format: str
  file: str
  num_bytes: int
  scores: scores_lib.Scores | None


def find_foreign_file(path: pathlib.Path) -> str | None:
  """The name of the first file in `path` that is not of an export, or None."""
  if not path.exists():
    return None
  for inner in sorted(path.iterdir()):
    if not any(fnmatch.fnmatch(inner.name, pattern) for pattern in _FILES):
      return inner.name
  return None


def resolve(chosen: Sequence[str]) -> list[str]:
  """The chosen formats, without duplicates, in the order of `NAMES`."""
  is_meant = set(chosen) | (set(_TFLITE) if ALL_TFLITE in chosen else set())
  return [name for name in NAMES if name in is_meant]


def load_calibration_images(
  data: experiment_settings.Data, task: image_task.ImageTask
) -> np.ndarray:
  """Loads at most 500 of the server's labeled images, spread over classes."""
  labeled = image_task.load(data.task, task).train
  num_labeled = settings.as_dict(data).get('num_labeled')
  # Without the setting, all training labels are known.
  if num_labeled is not None and num_labeled < len(labeled.labels):
    split = partition.split_labels(
      labeled.labels, num_labeled, task.num_classes, data.seed.seed
    )
    labeled = labeled.select(split.labeled)
  by_class = labeled.images[np.argsort(labeled.labels, kind='stable')]
  return by_class[:: math.ceil(len(by_class) / _MAX_CALIBRATION_IMAGES)]


def load_validation_images(
  data: experiment_settings.Data, task: image_task.ImageTask
) -> sources.LabeledImages:
  """Loads the images of the validation split."""
  if not data.validates:
    raise ValueError('has no validation images; train with --num_validation')
  return data.fill_in(task).load(task).test


def _report(
  test: sources.LabeledImages, what: str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
  """Yields batches of (images, labels), and shows progress."""
  progress.say(f'{what} on {len(test.labels):,} images')
  # The progress bar appears after a second, and only on terminals.
  with tqdm.tqdm(
    total=len(test.labels),
    desc=what,
    unit=' images',
    delay=1,
    disable=progress.is_quiet() or None,
  ) as bar:
    for images, labels in test.batches(_BATCH_SIZE):
      yield images, labels
      bar.update(len(labels))


def write(
  name: str,
  path: pathlib.Path,
  model: tf.keras.Model,
  class_names: Sequence[str],
  *,
  calibration_images: np.ndarray | None,
  **facts: Any,
) -> pathlib.Path:
  """Exports a model in one format to a folder, and returns the written path.

  `name` is one of `NAMES`. A SavedModel is the folder itself, and must be
  exported first. See `tflite.convert` for `calibration_images` and `facts`.
  """
  if name == SAVED_MODEL:
    progress.say(f'exporting {name}')
    saved_model.export_saved_model(model, class_names, path, **facts)
    return path
  precision = _TFLITE[name]
  calibrated = ''
  if precision is tflite.Precision.INT8:
    calibrated = f' and calibrating it with {len(calibration_images):,} images'
  progress.say(
    f'exporting {name}: converting the model{calibrated}, a minute or more'
  )
  file = path / f'model_{precision.value}.tflite'
  file.write_bytes(
    tflite.convert(model, class_names, precision, calibration_images, **facts)
  )
  (path / tflite.LABELS_FILE).write_text('\n'.join(class_names))
  return file


def examine(
  name: str, file: pathlib.Path, test: sources.LabeledImages | None
) -> ExportedFile:
  """Measures an exported model's size, and its scores if `test` is given."""
  if file.is_dir():
    path = '.'
    files = [inner for inner in file.rglob('*') if inner.is_file()]
  else:
    path, files = file.name, [file]
  scores = None
  if test is not None:
    scores = scores_lib.score(
      tflite.load(file), _report(test, f'testing {name}')
    )
  return ExportedFile(
    format=name,
    file=path,
    num_bytes=sum(inner.stat().st_size for inner in files),
    scores=scores,
  )
