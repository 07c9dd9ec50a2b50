# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads `metrics.csv`, whichever columns the run that wrote it had."""

from collections.abc import Mapping, Sequence
import csv
import pathlib

import numpy as np

from tff_semifl.programs import durable_files

# For each column the float64 values of all rounds.
Metrics = Mapping[str, np.ndarray]


class MetricsError(durable_files.OutputError):
  """A file is no table of metrics, or has nothing of what is asked for."""


def read_metrics(file: pathlib.Path) -> Metrics:
  """Reads a `metrics.csv`.

  Args:
    file: The file.

  Returns:
    Its columns of numbers: `round`, and whatever else there is. They are empty
    if there is no round yet, and NaN where a row has nothing in them.

  Raises:
    MetricsError: If the file cannot be read, or is something else.
  """
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
