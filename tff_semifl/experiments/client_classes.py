# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The images of each class that each client seems to have, by client priors.

Clients that estimate their class prior do so from the images alone, with the
model that they receive. Here the exported model takes its place, so that a
simulation can show which classes are few, and how far the estimates are off.
"""

from collections.abc import Mapping
import csv
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

TABLE = 'client_classes.csv'


def write(
  folder: pathlib.Path,
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
) -> None:
  """Writes a row for each client: estimated images of each class.

  Args:
    folder: The folder of the experiment.
    experiment: The experiment, whose clients estimate priors.
    weights: Weights of its model.

  Raises:
    durable_files.OutputError: If the table cannot be written.
  """
  path = folder / TABLE
  table = io.StringIO()
  writer = csv.writer(table, lineterminator='\n')
  writer.writerow(['client', *experiment.task.class_names])
  for client, counts in zip(
    experiment.data.client_names, estimate(experiment, weights), strict=True
  ):
    writer.writerow([client, *(f'{count:.1f}' for count in counts)])
  with durable_files.naming(path), durable_files.replacing(path) as file:
    file.write(table.getvalue().encode())


def estimate(
  experiment: experiment_lib.Experiment, weights: functional.ModelWeights
) -> np.ndarray:
  """Estimates the images of each class at each client.

  Args:
    experiment: As in `write`.
    weights: Likewise.

  Returns:
    float64 [clients, classes]; each row's sum is the client's number of images.
  """
  values = settings.as_dict(experiment.settings.system)
  labels = experiment.data.labeled.labels
  server_prior = client_prior.from_counts(
    tf.constant(
      np.bincount(labels, minlength=experiment.task.num_classes), tf.float32
    )
  )
  logits = evaluated_images.compute_logits(
    experiment, weights, experiment.data.unlabeled.images
  )
  return np.stack(
    [
      len(share)
      * client_prior.estimate(
        logits[share],
        server_prior,
        pseudo_count=values['prior_pseudo_count'],
        iterations=values['prior_iterations'],
      )
      .numpy()
      .astype(np.float64)
      for share in experiment.data.shares
    ]
  )


def read(folder: pathlib.Path) -> Mapping[str, np.ndarray]:
  """Returns the estimated images of each class, float64 [clients], by name.

  Args:
    folder: The folder of an experiment for which `write` has written it.

  Raises:
    durable_files.OutputError: If it cannot be read.
  """
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
  """Returns a line on the estimates, beside the truth where it is known.

  Args:
    experiment: The experiment.
    counts: From `read`.
  """
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
