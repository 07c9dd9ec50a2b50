# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The results of a trained model on the test or validation images."""

from collections.abc import Iterator
import contextlib
import functools
import pathlib

import numpy as np
import tensorflow as tf

from tff_semifl.algorithms import system as system_lib
from tff_semifl.data import sources
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import saved_experiment
from tff_semifl.files import durable_files
from tff_semifl.metrics import intervals
from tff_semifl.models import functional

_BATCH_SIZE = 500
# The file of results in an experiment's folder.
RESULT = 'result.txt'


def compute_logits(
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
  images: sources.Images | None = None,
) -> np.ndarray:
  """Computes logits, float32 [images, classes], by default of test images."""
  predict = tf.function(
    lambda weights, images: experiment.classifier.logits(weights, images),
    reduce_retracing=True,
  )
  if images is None:
    images = experiment.data.test.images
  found = [np.empty([0, experiment.task.num_classes], np.float32)]
  for start in range(0, len(images), _BATCH_SIZE):
    batch = np.asarray(images[start : start + _BATCH_SIZE])
    found.append(predict(weights, batch).numpy())
  return np.concatenate(found)


def find_right(
  experiment: experiment_lib.Experiment, weights: functional.ModelWeights
) -> np.ndarray:
  """Whether a model classifies each test image correctly, bool [images]."""
  logits = compute_logits(experiment, weights)
  return logits.argmax(axis=1) == experiment.data.test.labels


def count_by_class(experiment: experiment_lib.Experiment) -> np.ndarray:
  """Counts the test (or validation) images of each class, int64 [classes]."""
  return np.bincount(
    experiment.data.test.labels, minlength=experiment.task.num_classes
  )


def describe_accuracy(
  experiment: experiment_lib.Experiment, kept: saved_experiment.TrainedModel
) -> str:
  """A line on the exported model's accuracy, with a confidence interval."""
  kind = 'validation' if experiment.validates else 'test'
  found = intervals.describe(kept.accuracy, count_by_class(experiment))
  return f'{kind} accuracy after round {kept.round_num}: {found}'


def describe_metrics(
  experiment: experiment_lib.Experiment, weights: functional.ModelWeights
) -> Iterator[str]:
  """Yields a line for each chosen metric with a single value."""
  measure = experiment.measure
  if not isinstance(measure, model_selection.Measurement):
    return
  kind = 'validation' if experiment.validates else 'test'
  values = measure(compute_logits(experiment, weights))
  for metric in measure.metrics:
    if not metric.by_class:
      yield f'{kind} {metric.name}: {values[metric.name]:.4g}'


def write_by_system(
  experiment: experiment_lib.Experiment,
  folder: pathlib.Path,
  kept: saved_experiment.TrainedModel,
) -> None:
  """Writes the lines of `System.describe_result` to a file, if any."""
  metrics = metrics_table.read_metrics(folder / 'metrics.csv')
  lines = experiment.settings.system.describe_result(
    system_lib.Trained(
      experiment.classifier,
      kept.weights,
      kept.round_num,
      experiment.data.labeled,
      functools.partial(find_right, experiment),
      {name: values[-1] for name, values in metrics.items() if len(values)},
    )
  )
  if content := ''.join(f'{line}\n' for line in lines):
    durable_files.write_text(folder / RESULT, content)


def read_by_system(folder: pathlib.Path) -> list[str]:
  """The lines that `write_by_system` wrote, if any."""
  path = folder / RESULT
  if not path.exists():
    return []
  with blaming_file(path):
    return path.read_text().splitlines()


@contextlib.contextmanager
def blaming_file(path: pathlib.Path) -> Iterator[None]:
  """Turns errors of reading into an `OutputError` that names the file."""
  try:
    yield
  except (OSError, ValueError) as error:
    raise durable_files.OutputError(
      f'{path} cannot be read ({error}); the same command writes it anew'
    ) from error
