# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The images of each class that each client seems to have, by client priors.

Clients that estimate their class prior do so from the images alone, with the
model that they receive. Here the exported model takes its place, so that a
simulation can show which classes are few, and how far the estimates are off.
"""

from collections.abc import Callable, Mapping
import csv
import functools
import io
import pathlib

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import sources
from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.files import durable_files
from tff_semifl.methods import client_prior
from tff_semifl.models import functional
from tff_semifl.runs import metrics_table

TABLE = 'client_classes.csv'


def write(
  folder: pathlib.Path,
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
) -> None:
  """Writes a row for each client: estimated images of each class."""
  values = settings.as_dict(experiment.settings.system)
  if experiment.settings.system.estimates_class_shares:
    metrics = metrics_table.read_metrics(folder / 'metrics.csv')
    find = experiment.settings.system.create_share_estimate(
      {name: values[-1] for name, values in metrics.items()}
    )
  else:
    find = functools.partial(
      client_prior.estimate,
      pseudo_count=values['prior_pseudo_count'],
      iterations=values['prior_iterations'],
    )
  path = folder / TABLE
  table = io.StringIO()
  writer = csv.writer(table, lineterminator='\n')
  writer.writerow(['client', *experiment.task.class_names])
  for client, counts in zip(
    experiment.data.client_names,
    _estimate(experiment, weights, find),
    strict=True,
  ):
    writer.writerow([client, *(f'{count:.1f}' for count in counts)])
  with durable_files.naming(path), durable_files.replacing(path) as file:
    file.write(table.getvalue().encode())


def _estimate(
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
  find: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
) -> np.ndarray:
  """The images of each class at each client, float64 [clients, classes]."""
  num_classes = experiment.task.num_classes
  labels = experiment.data.labeled.labels
  server_prior = client_prior.from_counts(
    tf.constant(np.bincount(labels, minlength=num_classes), tf.float32)
  )
  logits = evaluated_images.compute_logits(
    experiment, weights, experiment.data.unlabeled.images
  )
  # Called for each of perhaps thousands of clients.
  find_of_client = tf.function(
    lambda logits: find(logits, server_prior),
    input_signature=[tf.TensorSpec([None, num_classes])],
  )
  counts = np.zeros([len(experiment.data.shares), num_classes])
  for row, share in zip(counts, experiment.data.shares, strict=True):
    if len(share):
      row[:] = len(share) * find_of_client(logits[share]).numpy()
  return counts


def read(folder: pathlib.Path) -> Mapping[str, np.ndarray]:
  """Returns the estimated images of each class, float64 [clients], by name."""
  path = folder / TABLE
  try:
    with path.open(newline='', encoding='utf-8') as file:
      (_, *names), *rows = csv.reader(file)
    counts = np.array([row[1:] for row in rows], np.float64)
  except (OSError, ValueError) as error:
    raise durable_files.OutputError(
      f'{path} cannot be read ({error}); the same command writes it anew'
    ) from error
  return dict(zip(names, counts.reshape([-1, len(names)]).T, strict=True))


def describe(
  experiment: experiment_lib.Experiment, counts: Mapping[str, np.ndarray]
) -> str:
  """Returns a line on the estimates, beside the truth where it is known."""
  pool = experiment.data.unlabeled
  labels = pool.true_labels[np.concatenate([*experiment.data.shares])]
  is_known = bool(np.all(labels != sources.UNKNOWN_LABEL))
  shown = []
  for label, (name, of_clients) in enumerate(counts.items()):
    text = f'{of_clients.sum():.0f} of {name}'
    if is_known:
      text += f' (true: {np.sum(labels == label)})'
    shown.append(text)
  return f'images at clients, estimated by client priors: {", ".join(shown)}'
