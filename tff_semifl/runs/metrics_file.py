# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes `metrics.csv`, which is complete at any moment."""

import csv
import io
import math
import os
import pathlib

from absl import logging
import tensorflow_federated as tff

from tff_semifl.files import durable_files
from tff_semifl.runs import round_metrics

_KEY = 'round'


class MetricsFile(tff.program.ReleaseManager):
  """A CSV file with a row for each evaluated round; new columns come last."""

  def __init__(self, path: pathlib.Path):
    """Reads the table; raises an OutputError if a row could not be added."""
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
      self._set_foreign_file_aside()
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
    self._content = table.getvalue().encode()
    with durable_files.replacing(self._path) as file:
      file.write(self._content)

  def _set_foreign_file_aside(self) -> None:
    """Renames a table that another program has changed or replaced."""
    path = self._path
    found = durable_files.describe_special_file(path)
    if found is None and path.exists():
      if path.read_bytes() == self._content:
        return
      found = 'changed'
    remedy = ''
    if found is not None:
      number = 1
      while os.path.lexists(damaged := f'{path}.damaged{number}'):
        number += 1
      path.rename(damaged)
      remedy = f'; what was found is {damaged} now'
    logging.warning(
      '%s is %s, though a run is using it: its rows were put back%s',
      path,
      found or 'gone',
      remedy,
    )


def _read(path: pathlib.Path) -> tuple[list[str], list[dict[str, str]]]:
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
    int(row[columns.index(_KEY)])
  return columns, [dict(zip(columns, row, strict=True)) for row in rows]
