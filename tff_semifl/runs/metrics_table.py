# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads `metrics.csv`, with any columns, and a run's results in it."""

from collections.abc import Mapping, Sequence
import csv
import pathlib
from typing import NamedTuple

import numpy as np

from tff_semifl.files import durable_files

# The float64 values of all rounds, by column.
Metrics = Mapping[str, np.ndarray]


class MetricsError(durable_files.OutputError):
  """A file is not a table of metrics, or lacks the requested metrics."""


def read_metrics(file: pathlib.Path) -> Metrics:
  """Reads a `metrics.csv`."""
  try:
    found = durable_files.describe_special_file(file)
    if found is not None:
      raise MetricsError(f'{file} is {found}, not a file')
    with file.open(newline='') as lines:
      header, *rows = csv.reader(lines)
    if any(len(row) != len(header) for row in rows):
      raise ValueError('a row is too long or too short')
    columns = {}
    for index, name in enumerate(header):
      values = _parse([row[index] for row in rows])
      if values is not None:
        columns[name] = values
    if 'round' not in columns:
      raise ValueError('it does not say which round a row is of')
    rounds = columns['round']
    is_whole = (rounds >= 0) & (rounds < np.inf) & (rounds == np.floor(rounds))
    if not is_whole.all():
      raise ValueError('a round is no number of one')
  except OSError as error:
    raise MetricsError(f'cannot read {file}: {error.strerror}') from error
  except (ValueError, csv.Error) as error:
    raise MetricsError(f'{file} is no table of metrics') from error
  return columns


def _parse(cells: Sequence[str]) -> np.ndarray | None:
  try:
    return np.array([float(cell or 'nan') for cell in cells])
  except ValueError:
    return None


class Results(NamedTuple):
  """The latest results of a run; round -1 and zeros before any round.

  Accuracies are those on the test images, or on a validation split used
  instead. `minutes` is the duration of all rounds, including those before an
  interruption.
  """

  round_num: int
  accuracy: float
  best_accuracy: float
  minutes: float


class Validation(NamedTuple):
  """The mean cross-entropy and accuracy of a run on its validation split."""

  loss: float
  accuracy: float
  minutes: float


_NO_ROUND = Results(-1, 0.0, 0.0, 0.0)


def read_results(path: pathlib.Path) -> Results:
  """Reads the results in a `metrics.csv`."""
  if not path.exists():
    return _NO_ROUND
  metrics = read_metrics(path)
  if not len(metrics['round']):
    return _NO_ROUND
  kind = 'validation' if 'validation/accuracy' in metrics else 'test'
  _check_columns(
    path, metrics, f'{kind}/accuracy', f'{kind}/best_accuracy', 'seconds'
  )
  return Results(
    int(metrics['round'][-1]),
    float(metrics[f'{kind}/accuracy'][-1]),
    float(metrics[f'{kind}/best_accuracy'][-1]),
    float(metrics['seconds'].sum()) / 60,
  )


def read_validation(path: pathlib.Path) -> Validation:
  """Reads the result of a run on its validation split."""
  metrics = read_metrics(path)
  _check_columns(
    path, metrics, 'validation/loss', 'validation/accuracy', 'seconds'
  )
  return Validation(
    float(metrics['validation/loss'][-1]),
    float(metrics['validation/accuracy'][-1]),
    float(metrics['seconds'].sum()) / 60,
  )


def _check_columns(path: pathlib.Path, metrics: Metrics, *columns: str) -> None:
  for column in columns:
    if column not in metrics:
      raise MetricsError(f'{path} has no column {column}')
