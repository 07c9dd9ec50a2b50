# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads `metrics.csv`, with any columns."""

from collections.abc import Mapping, Sequence
import csv
import pathlib

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
