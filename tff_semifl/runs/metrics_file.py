# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table of metrics, a file that is complete at any moment."""

from collections.abc import Iterable
import csv
import io
import itertools
import math
import pathlib

from absl import logging
import tensorflow_federated as tff

from tff_semifl.files import durable_files
from tff_semifl.runs import round_metrics

_KEY = 'round'


class MetricsFile(tff.program.ReleaseManager):
  """A CSV file with a row for each round.

  TFF's manager replaces the file with each row, so that no row is incomplete; a
  row replaces those of its round and of later rounds. This class adds: a row is
  on the disk before the round's state is saved; lines end in LF; errors name a
  damaged file; no row is lost if another program replaces the file; new columns
  come last, in the order of the metrics.
  """

  def __init__(self, path: pathlib.Path):
    """Reads the table, if there is one, and removes unfinished files.

    Args:
      path: The file, in an existing folder.

    Raises:
      durable_files.OutputError: If the file is damaged, not writable, or not a
        regular file.
    """
    self._path = path
    with durable_files.naming(path):
      for leftover in path.parent.glob(f'{path.name}_temp*'):
        leftover.unlink()
      try:
        _check(path)
        self._table = tff.program.CSVFileReleaseManager(
          str(path),
          save_mode=tff.program.CSVSaveMode.WRITE,
          key_fieldname=_KEY,
        )
      except (
        tff.program.CSVKeyFieldnameNotFoundError,
        csv.Error,
        TypeError,
        ValueError,
      ) as error:
        raise durable_files.OutputError(
          f'{path} is damaged: {error}; put a good copy in its place, or remove'
          ' it, and the table begins with the next round'
        ) from error
      self._content = self._end_lines()

  async def release(
    self, value: tff.program.ReleasableStructure, key: int
  ) -> None:
    """Writes a row, which is on the disk when this returns.

    If another program has changed the table, its file is renamed to
    `<name>.damaged1`, the table is written again, and a warning is logged.

    Args:
      value: The row's values, in any structure. NaN becomes an empty cell.
      key: The row's round. Rows of this round and of later ones are removed.

    Raises:
      durable_files.OutputError: If the table cannot be written.
    """
    with durable_files.naming(self._path):
      self._restore()
      columns = round_metrics.by_column(value)
      self._add_columns(columns)
      await self._table.release(
        {name: _to_cell(number) for name, number in columns.items()}, key
      )
      self._content = self._end_lines()

  def _add_columns(self, names: Iterable[str]) -> None:
    """Adds missing columns in the given order; TFF would sort them."""
    lines = csv.reader(self._content.decode().split('\n'))
    header, *rows = (row for row in lines if row)
    new = [name for name in names if name not in header]
    if not new:
      return
    table = io.StringIO()
    csv.writer(table, lineterminator='\n').writerows(
      [[*header, *new], *([*row, *['' for _ in new]] for row in rows)]
    )
    self._content = table.getvalue().encode()
    with durable_files.replacing(self._path) as file:
      file.write(self._content)

  def _end_lines(self) -> bytes:
    """Turns TFF's CR LF into LF, and returns the whole table."""
    content = self._path.read_bytes().replace(b'\r\n', b'\n')
    with durable_files.replacing(self._path) as file:
      file.write(content)
    return content

  def _restore(self) -> None:
    """Restores a table that was removed, changed or replaced."""
    path = self._path
    found = durable_files.describe_special_file(path)
    is_there = found is not None or path.exists()
    if found is None:
      if is_there and path.read_bytes() == self._content:
        return
      found = 'changed' if is_there else 'gone'
    remedy = ''
    with durable_files.replacing(path) as file:
      file.write(self._content)
      if is_there:
        damaged = _free_name(path)
        path.rename(damaged)
        remedy = f'; what was found is {damaged} now'
    logging.warning(
      '%s is %s, though a run is using it: its rows were put back%s',
      path,
      found,
      remedy,
    )


def _free_name(path: pathlib.Path) -> pathlib.Path:
  for number in itertools.count(1):
    name = path.with_name(f'{path.name}.damaged{number}')
    if not (name.exists() or name.is_symlink()):
      return name


def _to_cell(value: float) -> float | str:
  return '' if math.isnan(value) else value


def _check(path: pathlib.Path) -> None:
  """Raises a ValueError or csv.Error if a row could not be added later."""
  found = durable_files.describe_special_file(path)
  if found is not None:
    raise ValueError(f'it is {found}, not a file')
  if not path.exists():
    return
  # TFF's manager ends lines at '\n' only.
  lines = path.read_bytes().decode().split('\n')
  header, *rows = [row for row in csv.reader(lines, strict=True) if row] or [[]]
  if len(set(header)) < len(header):
    raise ValueError('two columns have the same name')
  for row in rows:
    if len(row) != len(header):
      raise ValueError(
        f'a row has {len(row)} cells, and {len(header)} columns have names'
      )
    int(row[header.index(_KEY)])
