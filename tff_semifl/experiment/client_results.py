# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The accuracy of a trained model at each client.

The measurement needs labels of clients' images. In a simulation, the labels
come from the training set; users may give labels of their own images.
"""

from collections.abc import Iterator, Sequence
import csv
import io
import pathlib

import numpy as np

from tff_semifl.algorithms import system as system_lib
from tff_semifl.data import sources
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import model_results
from tff_semifl.files import durable_files
from tff_semifl.label_shift import share_prior
from tff_semifl.metrics import client_accuracy
from tff_semifl.metrics import intervals
from tff_semifl.models import functional

ACCURACIES = 'client_accuracy.csv'
# The prefix of columns with accuracies under the class shares of a client.
ADAPTED = 'adapted_'


def write_accuracies(
  folder: pathlib.Path,
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
  prior: share_prior.SharePrior | None = None,
) -> None:
  """Writes a table with the model's accuracy at each client.

  If images of clients were held out, the table also has accuracies with each
  client's class shares, by `System.predict`.
  """
  data = experiment.data
  pool, shares = data.at_clients
  chosen = np.flatnonzero(pool.true_labels != sources.UNKNOWN_LABEL)
  logits = np.zeros([len(pool.true_labels), experiment.task.num_classes])
  logits[chosen] = model_results.compute_logits(
    experiment, weights, pool.images[chosen]
  )
  predicted = [logits.argmax(axis=1)]
  if data.client_test is not None:
    predicted.append(
      _predict_at_clients(experiment, weights, prior, logits, shares)
    )
  measured = [
    client_accuracy.count(
      pool.true_labels, each, shares, sources.UNKNOWN_LABEL, data.client_names
    )
    for each in predicted
  ]
  columns = ['client', 'images']
  for prefix in ('', ADAPTED)[: len(measured)]:
    columns += [prefix + name for name in ('right', 'accuracy', 'low', 'high')]
  rows = []
  for of_client in zip(*measured, strict=True):
    rows.append([of_client[0].client, of_client[0].num_images])
    for each in of_client:
      interval = intervals.of_accuracy(each.num_right, each.num_images)
      rows[-1] += [each.num_right, each.accuracy, *interval]
  table = io.StringIO()
  csv.writer(table, lineterminator='\n').writerows([columns, *rows])
  durable_files.write_text(folder / ACCURACIES, table.getvalue())


def _predict_at_clients(
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
  prior: share_prior.SharePrior | None,
  logits: np.ndarray,
  shares: Sequence[np.ndarray],
) -> np.ndarray:
  """Classifies clients' held-out images by `System.predict`, int64 [images].

  `logits` are the global model's; `shares` are each client's image indices.
  """
  data = experiment.data
  own = model_results.compute_logits(experiment, weights, data.unlabeled.images)
  predicted = logits.argmax(axis=1)
  for number, (share, of_client) in enumerate(
    zip(data.shares, shares, strict=True)
  ):
    client = system_lib.Client(number, own[share], prior)
    found = experiment.settings.system.predict(
      client, logits[of_client].astype(np.float32)
    )
    predicted[of_client] = found.argmax(axis=1)
  return predicted


def read_accuracies(
  folder: pathlib.Path,
) -> list[list[client_accuracy.ClientAccuracy]]:
  """Reads the accuracies of all clients, in one list or two lists.

  The first list is of the global model; the second also uses class shares.
  """
  path = folder / ACCURACIES
  with model_results.blaming_file(path):
    content = path.read_bytes().decode()
    header, *rows = csv.reader(io.StringIO(content, newline=''))
    return [
      [
        client_accuracy.ClientAccuracy(
          row[0], int(row[header.index(f'{prefix}right')]), int(row[1])
        )
        for row in rows
      ]
      for prefix in ('', ADAPTED)
      if f'{prefix}right' in header
    ]


def describe_accuracies(
  measured: Sequence[Sequence[client_accuracy.ClientAccuracy]],
) -> Iterator[str]:
  """Yields lines that describe the accuracies from `read_accuracies`."""
  if len(measured) == 1:
    yield _describe_spread('accuracy of', measured[0])
    return
  number = sum(each.num_images for each in measured[0])
  yield f'at clients, on {number} held-out images:'
  yield _describe_spread('global model,', measured[0])
  yield _describe_spread('own class shares,', measured[1])


def _describe_spread(
  what: str, clients: Sequence[client_accuracy.ClientAccuracy]
) -> str:
  spread = client_accuracy.summarize(clients)
  worst = spread.worst
  return (
    f'{what} {spread.num_clients} clients with labels: mean'
    f' {spread.mean:.1%}, standard deviation {100 * spread.deviation:.1f}'
    f' points, worst tenth {spread.worst_tenth:.1%}; worst client'
    f' {worst.client}, {intervals.show(worst.num_right, worst.num_images)} of'
    f' {worst.num_images} images'
  )
