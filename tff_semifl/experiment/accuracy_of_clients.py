# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The accuracy of the exported model on the images of each client.

Clients' labels are used for this measurement alone, never for training. In a
simulation the labels come from the training set; users may give labels for
their own images.
"""

import csv
import io
import pathlib

import numpy as np

from tff_semifl.data import sources
from tff_semifl.experiment import evaluated_images
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.files import durable_files
from tff_semifl.metrics import client_accuracy
from tff_semifl.metrics import intervals
from tff_semifl.models import functional

TABLE = 'client_accuracy.csv'
_FIGURE = 'client_accuracy.png'


def write(
  folder: pathlib.Path,
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
) -> client_accuracy.Spread:
  """Writes a table and a figure of clients' accuracies; returns the spread."""
  pool = experiment.data.unlabeled
  # Skips images without a label.
  chosen = np.flatnonzero(pool.true_labels != sources.UNKNOWN_LABEL)
  predicted = np.full(len(pool.true_labels), sources.UNKNOWN_LABEL)
  predicted[chosen] = evaluated_images.compute_logits(
    experiment, weights, pool.images[chosen]
  ).argmax(axis=1)
  clients = client_accuracy.count(
    pool.true_labels,
    predicted,
    experiment.data.shares,
    sources.UNKNOWN_LABEL,
    experiment.data.client_names,
  )
  spread = client_accuracy.summarize(clients)
  path = folder / TABLE
  table = io.StringIO()
  writer = csv.writer(table, lineterminator='\n')
  writer.writerow(['client', 'images', 'right', 'accuracy', 'low', 'high'])
  for each in clients:
    low, high = intervals.of_accuracy(each.num_right, each.num_images)
    writer.writerow(
      [each.client, each.num_images, each.num_right, each.accuracy, low, high]
    )
  with durable_files.naming(path), durable_files.replacing(path) as file:
    file.write(table.getvalue().encode())
  # Imported here: Matplotlib takes as long to import as a round of digits.
  from tff_semifl.plots import figures

  fig = figures.create_client_accuracies(
    clients, f'{folder.name}: {len(clients)} clients'
  )
  with durable_files.naming(folder / _FIGURE):
    figures.save(fig, [folder / _FIGURE])
  return spread


def read(folder: pathlib.Path) -> client_accuracy.Spread:
  """Reads the spread of clients' accuracies from the table in a folder."""
  return client_accuracy.summarize(read_clients(folder))


def read_clients(
  folder: pathlib.Path,
) -> list[client_accuracy.ClientAccuracy]:
  """Reads each client's accuracy from the table in a folder."""
  path = folder / TABLE
  try:
    with path.open(newline='', encoding='utf-8') as file:
      return [
        client_accuracy.ClientAccuracy(
          row['client'], int(row['right']), int(row['images'])
        )
        for row in csv.DictReader(file)
      ]
  except (OSError, ValueError, KeyError) as error:
    raise durable_files.OutputError(
      f'{path} cannot be read ({error}); the same command writes it anew'
    ) from error


def describe(spread: client_accuracy.Spread) -> str:
  """One line that summarizes the spread of accuracies."""
  worst = spread.worst
  return (
    f'accuracy of {spread.num_clients} clients with labels: mean'
    f' {spread.mean:.1%}, standard deviation {100 * spread.deviation:.1f}'
    f' points, worst tenth {spread.worst_tenth:.1%}; worst client'
    f' {worst.client}, {intervals.show(worst.num_right, worst.num_images)} of'
    f' {worst.num_images} images'
  )
