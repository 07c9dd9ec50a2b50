# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures the accuracy of an exported model.

  python -m launch.evaluate --exported_model=results/mine/export --task=digits
  python -m launch.evaluate --exported_model=mine.tflite --images=photos/test

The model is a SavedModel or a TFLite model; its experiment is not needed. The
images are the test images of a task, or those of the folder --images, which has
a folder for each class. For a model of feature vectors, --images is a .npz file
with the arrays `test_features` and `test_labels`. --output_file=results.json
also writes the results and the confusion matrix as JSON; --overwrite replaces
an existing file. The program also prints the guarantee of differential privacy.

With --adapt_shares or --class_shares, the images come from one site, and the
model adapts to the site's class shares. --adapt_shares estimates these shares
from the test images, without their labels.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import json
import math
from typing import Any

import numpy as np

from tff_semifl import settings
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.cli import site_shares
from tff_semifl.data import data_errors
from tff_semifl.data import feature_files
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.experiment import task_registry
from tff_semifl.export import exported_model
from tff_semifl.export import scores as scores_lib
from tff_semifl.metrics import intervals
from tff_semifl.results import run_facts

_BATCH_SIZE = 250

_Batches = Iterator[tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate(settings.Settings):
  """The settings of this program.

  Attributes:
    has_task: Whether --task was given.
  """

  model: parts.ExportedModel = parts.ExportedModel()
  chosen: task_registry.ChosenTask = task_registry.ChosenTask()
  output: parts.OutputFile = parts.OutputFile()
  shares: site_shares.SiteShares = site_shares.SiteShares()
  has_task: bool = False


def create(changes: Mapping[str, Any]) -> Evaluate:
  """Creates the settings from changes by name."""
  return settings.change(Evaluate(has_task='task' in changes), changes)


def main(evaluate: Evaluate) -> None:
  """Prints the accuracy on a task, or on --images."""
  path = evaluate.output.check()
  images = evaluate.model.images
  with evaluate.model.blame_images(ValueError):
    if (images is None) != evaluate.has_task:
      raise ValueError('give either this or --task, to say what to test on')
    if images is not None and len(images) != 1:
      raise ValueError('name one folder')
  model = evaluate.model.load()
  evaluate.shares.check(model)
  if images is None:
    batches = _batches_of_task(model, evaluate.chosen)
  else:
    with evaluate.model.blame_images(ValueError):
      read = (
        _batches_of_features
        if model.kind is sources.FEATURES
        else _batches_of_folder
      )
      batches = read(model, images[0])
  with evaluate.model.blame_images(data_errors.DataError):
    scores = _score(evaluate, model, batches)
  accuracy = intervals.describe(scores.accuracy, scores.class_sizes)
  print(f'accuracy: {accuracy}')
  print(f'loss: {scores.loss:.4f}')
  print(f'calibration: {run_facts.describe_calibration(scores)}')
  rows = zip(
    model.class_names,
    np.diag(scores.confusion),
    scores.class_sizes,
    strict=True,
  )
  for name, num_right, size in rows:
    of_all = f' of {size}' if size else ''
    print(f'{name}: {intervals.show(num_right, size)}{of_all}')
  measured = scores.measure()
  for line in run_facts.describe_metrics(measured):
    print(line)
  if model.privacy is not None:
    print(f'privacy: {model.privacy.headline}')
    if model.privacy.meaning:
      print(f'  meaning: {model.privacy.meaning}')
    for what, text in model.privacy.details:
      print(f'  {what}: {text}')
  if path is None:
    return
  results = {
    **scores.to_dict(model.class_names),
    'metrics': {
      name: {
        field: None if math.isnan(number) else number
        for field, number in each._asdict().items()
      }
      for name, each in measured.items()
    },
    'privacy': model.privacy and dataclasses.asdict(model.privacy),
  }
  with parts.replacing(path) as file:
    file.write(f'{json.dumps(results, indent=2)}\n'.encode())


def _score(
  evaluate: Evaluate, model: exported_model.ExportedModel, batches: _Batches
) -> scores_lib.Scores:
  """Evaluates the model, with class shares if the settings demand it."""
  if not evaluate.shares.adapts:
    return scores_lib.score(model, batches)
  inputs = site_shares.SiteInputs(model)
  scores = scores_lib.score(model, inputs.watch(batches))
  accuracy = intervals.describe(scores.accuracy, scores.class_sizes)
  print(f"accuracy with the labels' class shares: {accuracy}")
  probabilities, _ = evaluate.shares.adapt(model, scores.probabilities, inputs)
  return dataclasses.replace(scores, probabilities=probabilities)


def _batches_of_task(
  model: exported_model.ExportedModel, chosen: task_registry.ChosenTask
) -> _Batches:
  task = chosen.task.create()
  with settings.blame('task', settings.name_of(chosen, 'task')):
    if task.class_names != model.class_names:
      raise ValueError(
        f'its classes are {_list(task.class_names)}; those of the model are'
        f' {_list(model.class_names)}'
      )
    model.check_takes(task.image_shape)
  test = image_task.load_test(chosen.task, task)
  with settings.blame('task', settings.name_of(chosen, 'task')):
    if not len(test.labels):
      raise ValueError('has no test images')
  return test.batches(_BATCH_SIZE)


def _batches_of_features(
  model: exported_model.ExportedModel, path: str
) -> _Batches:
  test = feature_files.read_test(path, model.class_names)
  model.check_takes(test.images.shape[1:])
  return test.batches(_BATCH_SIZE)


def _batches_of_folder(
  model: exported_model.ExportedModel, folder: str
) -> _Batches:
  classes = image_listing.list_classes(folder)
  unknown = [name for name in classes if name not in model.class_names]
  if unknown:
    raise data_errors.DataError(
      f'the model has no class {", ".join(unknown)}; its classes are'
      f' {_list(model.class_names)}'
    )
  labels = {
    file: model.class_names.index(name)
    for name, files in classes.items()
    for file in files
  }
  for files, images in image_reading.read_batches(labels, model.num_channels):
    yield images, np.array([labels[file] for file in files])


def _list(names: tuple[str, ...]) -> str:
  shown = ', '.join(names[:10])
  return f'{shown} and {len(names) - 10} more' if len(names) > 10 else shown


if __name__ == '__main__':
  program.run(main, create)
