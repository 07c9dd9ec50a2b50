# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Estimates how many images of each class each client has.

In training, clients estimate their class prior from unlabeled images with the
model that they receive. Here the exported model is used. The estimates show
which classes are rare; a simulation also shows how accurate the estimates are.
"""

from collections.abc import Mapping
import csv
import functools
import io
import pathlib

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import client_prior
from tff_semifl.data import sources
from tff_semifl.experiment import evaluated_images
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import metrics_table
from tff_semifl.files import durable_files
from tff_semifl.models import functional

TABLE = 'client_classes.csv'


def write(
  folder: pathlib.Path,
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
) -> None:
  """Writes a table of the estimated images of each class, a row per client."""
  system, data = experiment.settings.system, experiment.data
  values = settings.as_dict(system)
  if system.estimates_class_shares:
    metrics = metrics_table.read_metrics(folder / 'metrics.csv')
    find = system.create_share_estimate(
      {name: column[-1] for name, column in metrics.items()}
    )
  else:
    find = functools.partial(
      client_prior.estimate,
      pseudo_count=values['prior_pseudo_count'],
      iterations=values['prior_iterations'],
    )
  num_classes = experiment.task.num_classes
  server_prior = client_prior.from_counts(
    tf.constant(
      np.bincount(data.labeled.labels, minlength=num_classes), tf.float32
    )
  )
  # Compiled, since there may be thousands of clients.
  find_of_client = tf.function(
    lambda logits: find(logits, server_prior),
    input_signature=[tf.TensorSpec([None, num_classes])],
  )
  logits = evaluated_images.compute_logits(
    experiment, weights, data.unlabeled.images
  )
  table = io.StringIO()
  writer = csv.writer(table, lineterminator='\n')
  writer.writerow(['client', *experiment.task.class_names])
  for client, share in zip(data.client_names, data.shares, strict=True):
    counts = np.zeros(num_classes)
    if len(share):
      counts = len(share) * find_of_client(logits[share]).numpy()
    writer.writerow([client, *(f'{count:.1f}' for count in counts)])
  path = folder / TABLE
  with durable_files.naming(path), durable_files.replacing(path) as file:
    file.write(table.getvalue().encode())


def read(folder: pathlib.Path) -> Mapping[str, np.ndarray]:
  """Reads the estimated images, float64 [clients], by name of the class."""
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
  """One line with the estimated and, if known, true images of each class."""
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
