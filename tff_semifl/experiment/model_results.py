# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a trained model achieves: on evaluated images, and for each client.

Clients' labels only measure, and never train. In a simulation they come from
the training set; users may give labels for their own images.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import contextlib
import csv
import functools
import io
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import system as system_lib
from tff_semifl.data import sources
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import saved_experiment
from tff_semifl.files import durable_files
from tff_semifl.metrics import client_accuracy
from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.models import functional

_BATCH_SIZE = 500
# Files in an experiment's folder.
RESULT = 'result.txt'
ACCURACIES = 'client_accuracy.csv'
CLASSES = 'client_classes.csv'
_FIGURE = 'client_accuracy.png'


def compute_logits(
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
  images: sources.Images | None = None,
) -> np.ndarray:
  """Logits, float32 [images, classes]; None stands for the test images."""
  mapped = experiment.mapped_images
  predict = tf.function(
    lambda weights, images: experiment.classifier.logits(
      weights, tf.cast(images, tf.float32)
    ),
    reduce_retracing=True,
  )
  if images is None:
    images = experiment.data.test.images
  found = [np.empty([0, experiment.task.num_classes], np.float32)]
  for start in range(0, len(images), _BATCH_SIZE):
    batch = np.asarray(images[start : start + _BATCH_SIZE])
    if mapped is not None:
      batch = mapped.read(batch)
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


def describe_metrics(
  experiment: experiment_lib.Experiment, weights: functional.ModelWeights
) -> Iterator[str]:
  """A line for each chosen metric that has one value for all classes."""
  measure = experiment.measure
  if not isinstance(measure, model_selection.Measurement):
    return
  kind = 'validation' if experiment.validates else 'test'
  logits = compute_logits(experiment, weights)
  values = measure(logits)
  for metric in measure.metrics:
    if metric.by_class:
      continue
    line = f'{kind} {metric.name}: {values[metric.name]:.4g}'
    # Resampling a user's metric may take long.
    if metric_lib.is_own(metric.name):
      low, high = intervals.bootstrap(
        metric.compute, experiment.data.test.labels, logits
      )
      line += f' (95% interval {low:.4g} to {high:.4g}, bootstrap)'
    yield line


def write_by_system(
  experiment: experiment_lib.Experiment,
  folder: pathlib.Path,
  kept: saved_experiment.TrainedModel,
) -> None:
  """Writes the system's own description of the result, if it has one."""
  metrics = metrics_table.read_metrics(folder / 'metrics.csv')
  labeled = experiment.data.labeled
  mapped = experiment.mapped_images
  if mapped is not None:
    labeled = labeled._replace(images=mapped.read(labeled.images).numpy())
  lines = experiment.settings.system.describe_result(
    system_lib.Trained(
      experiment.classifier,
      kept.weights,
      kept.round_num,
      labeled,
      functools.partial(find_right, experiment),
      {name: values[-1] for name, values in metrics.items() if len(values)},
    )
  )
  if content := ''.join(f'{line}\n' for line in lines):
    _write(folder / RESULT, content)


def read_by_system(folder: pathlib.Path) -> list[str]:
  """The lines that `write_by_system` wrote, if any."""
  path = folder / RESULT
  if not path.exists():
    return []
  with _blaming(path):
    return path.read_text().splitlines()


def write_accuracies(
  folder: pathlib.Path,
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
) -> None:
  """Writes a table and a figure of clients' accuracies."""
  pool = experiment.data.unlabeled
  # Skips images without a label.
  chosen = np.flatnonzero(pool.true_labels != sources.UNKNOWN_LABEL)
  predicted = np.full(len(pool.true_labels), sources.UNKNOWN_LABEL)
  predicted[chosen] = compute_logits(
    experiment, weights, pool.images[chosen]
  ).argmax(axis=1)
  clients = client_accuracy.count(
    pool.true_labels,
    predicted,
    experiment.data.shares,
    sources.UNKNOWN_LABEL,
    experiment.data.client_names,
  )
  _write_table(
    folder / ACCURACIES,
    ['client', 'images', 'right', 'accuracy', 'low', 'high'],
    (
      [
        each.client,
        each.num_images,
        each.num_right,
        each.accuracy,
        *intervals.of_accuracy(each.num_right, each.num_images),
      ]
      for each in clients
    ),
  )
  # Imported here: Matplotlib takes as long to import as a round of digits.
  from tff_semifl.plots import figures

  fig = figures.create_client_accuracies(
    clients, f'{folder.name}: {len(clients)} clients'
  )
  with durable_files.naming(folder / _FIGURE):
    figures.save(fig, [folder / _FIGURE])


def read_accuracies(
  folder: pathlib.Path,
) -> list[client_accuracy.ClientAccuracy]:
  """Reads each client's accuracy from the table in a folder."""
  rows = _read_table(folder / ACCURACIES)
  with _blaming(folder / ACCURACIES):
    return [
      client_accuracy.ClientAccuracy(client, int(num_right), int(num_images))
      for client, num_images, num_right, *_ in rows[1:]
    ]


def describe_accuracies(
  clients: Sequence[client_accuracy.ClientAccuracy],
) -> str:
  """One line that summarizes the spread of clients' accuracies."""
  spread = client_accuracy.summarize(clients)
  worst = spread.worst
  return (
    f'accuracy of {spread.num_clients} clients with labels: mean'
    f' {spread.mean:.1%}, standard deviation {100 * spread.deviation:.1f}'
    f' points, worst tenth {spread.worst_tenth:.1%}; worst client'
    f' {worst.client}, {intervals.show(worst.num_right, worst.num_images)} of'
    f' {worst.num_images} images'
  )


def write_classes(
  folder: pathlib.Path,
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
) -> None:
  """Writes a table of the estimated images of each class, a row per client.

  In training, clients estimate their class prior with the model that they
  receive; here the exported model is used.
  """
  system, data = experiment.settings.system, experiment.data
  num_classes = experiment.task.num_classes
  if system.estimates_class_shares:
    metrics = metrics_table.read_metrics(folder / 'metrics.csv')
    find = system.create_share_estimate(
      {name: column[-1] for name, column in metrics.items()}
    )
  else:
    values = settings.as_dict(system)
    find = functools.partial(
      client_prior.estimate,
      pseudo_count=values['prior_pseudo_count'],
      iterations=values['prior_iterations'],
    )
  counts = np.bincount(data.labeled.labels, minlength=num_classes)
  server_prior = client_prior.from_counts(tf.constant(counts, tf.float32))
  # Compiled, since there may be thousands of clients.
  find_of_client = tf.function(
    lambda logits: find(logits, server_prior),
    input_signature=[tf.TensorSpec([None, num_classes])],
  )
  logits = compute_logits(experiment, weights, data.unlabeled.images)
  rows = []
  for client, share in zip(data.client_names, data.shares, strict=True):
    counts = np.zeros(num_classes)
    if len(share):
      counts = len(share) * find_of_client(logits[share]).numpy()
    rows.append([client, *(f'{count:.1f}' for count in counts)])
  _write_table(folder / CLASSES, ['client', *experiment.task.class_names], rows)


def read_classes(folder: pathlib.Path) -> Mapping[str, np.ndarray]:
  """Reads the estimated images, float64 [clients], by name of the class."""
  (_, *names), *rows = _read_table(folder / CLASSES)
  with _blaming(folder / CLASSES):
    counts = np.array([row[1:] for row in rows], np.float64)
    return dict(zip(names, counts.reshape([-1, len(names)]).T, strict=True))


def describe_classes(
  experiment: experiment_lib.Experiment, counts: Mapping[str, np.ndarray]
) -> str:
  """One line with the estimated and, if known, true images of each class."""
  shares = np.concatenate([*experiment.data.shares])
  labels = experiment.data.unlabeled.true_labels[shares]
  is_known = bool(np.all(labels != sources.UNKNOWN_LABEL))
  shown = [
    f'{of_clients.sum():.0f} of {name}'
    + (f' (true: {np.sum(labels == label)})' if is_known else '')
    for label, (name, of_clients) in enumerate(counts.items())
  ]
  return f'images at clients, estimated by client priors: {", ".join(shown)}'


def _write_table(
  path: pathlib.Path, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
  table = io.StringIO()
  writer = csv.writer(table, lineterminator='\n')
  writer.writerows([header, *rows])
  _write(path, table.getvalue())


def _write(path: pathlib.Path, content: str) -> None:
  with durable_files.naming(path), durable_files.replacing(path) as file:
    file.write(content.encode())


def _read_table(path: pathlib.Path) -> list[list[str]]:
  with _blaming(path):
    return [*csv.reader(io.StringIO(path.read_bytes().decode(), newline=''))]


@contextlib.contextmanager
def _blaming(path: pathlib.Path) -> Iterator[None]:
  """Turns errors of reading into an `OutputError` that names the file."""
  try:
    yield
  except (OSError, ValueError) as error:
    raise durable_files.OutputError(
      f'{path} cannot be read ({error}); the same command writes it anew'
    ) from error
