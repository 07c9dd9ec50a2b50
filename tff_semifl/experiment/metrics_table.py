# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes and reads `metrics.csv`, and finds the results of a run there."""

from collections.abc import Mapping, Sequence
import csv
import io
import math
import pathlib
from typing import NamedTuple

import numpy as np
import tensorflow_federated as tff

from tff_semifl.experiment import round_metrics
from tff_semifl.files import durable_files

# The float64 values of all rounds, by column.
Metrics = Mapping[str, np.ndarray]

_KEY = 'round'


class MetricsFile(tff.program.ReleaseManager):
  """A CSV file with a row for each evaluated round; new columns come last."""

  def __init__(self, path: pathlib.Path):
    """Reads the table; an OutputError if it is damaged or not writable."""
    self._path = path
    with durable_files.naming(path):
      try:
        self._columns, self._rows = _read(path)
      except (csv.Error, ValueError) as error:
        raise durable_files.OutputError(
          f'{path} is damaged: {error}; put a good copy in its place, or remove'
          ' it, and the table begins with the next round'
        ) from error
      self._write()

  async def release(
    self, value: tff.program.ReleasableStructure, key: int
  ) -> None:
    """Writes a round's row, in place of rows of this round and of later ones.

    The row is on the disk when this returns. NaN becomes an empty cell.
    """
    values = {_KEY: key, **round_metrics.by_column(value)}
    with durable_files.naming(self._path):
      self._columns = [*dict.fromkeys([*self._columns, *values])]
      self._rows = [row for row in self._rows if int(row[_KEY]) < key]
      self._rows.append(
        {k: '' if math.isnan(v) else str(v) for k, v in values.items()}
      )
      self._write()

  def _write(self) -> None:
    table = io.StringIO()
    writer = csv.DictWriter(table, self._columns, lineterminator='\n')
    writer.writeheader()
    writer.writerows(self._rows)
    with durable_files.replacing(self._path) as file:
      file.write(table.getvalue().encode())


def _read(path: pathlib.Path) -> tuple[list[str], list[dict[str, str]]]:
  """Reads columns and rows; a ValueError if the table is damaged."""
  found = durable_files.describe_special_file(path)
  if found is not None:
    raise ValueError(f'it is {found}, not a file')
  if not path.exists():
    return [_KEY], []
  lines = io.StringIO(path.read_bytes().decode(), newline='')
  columns, *rows = [row for row in csv.reader(lines, strict=True) if row] or [
    [_KEY]
  ]
  if len(set(columns)) < len(columns):
    raise ValueError('two columns have the same name')
  if _KEY not in columns:
    raise ValueError(f'no column is named {_KEY}')
  for row in rows:
    if len(row) != len(columns):
      raise ValueError(
        f'a row has {len(row)} cells, and {len(columns)} columns have names'
      )
    if int(row[columns.index(_KEY)]) < 0:
      raise ValueError('a round is below 0')
  return columns, [dict(zip(columns, row, strict=True)) for row in rows]


class MetricsError(durable_files.OutputError):
  """A file is not a table of metrics, or lacks the requested metrics."""


def read_metrics(file: pathlib.Path) -> Metrics:
  """Reads a `metrics.csv`; columns that are not numeric are left out."""
  if not file.exists():
    raise MetricsError(f'cannot read {file}: it is not there')
  try:
    columns, rows = _read(file)
  except (OSError, ValueError, csv.Error) as error:
    raise MetricsError(f'{file} is no table of metrics: {error}') from error
  values = {name: _parse([row[name] for row in rows]) for name in columns}
  return {name: each for name, each in values.items() if each is not None}


def _parse(cells: Sequence[str]) -> np.ndarray | None:
  try:
    return np.array([float(cell or 'nan') for cell in cells])
  except ValueError:
    return None


class Results(NamedTuple):
  """The latest results of a run; round -1 and zeros before any round.

  Accuracies are measured on the test images, or else on the validation
  split. `minutes` is the duration of all rounds, including those before an
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
