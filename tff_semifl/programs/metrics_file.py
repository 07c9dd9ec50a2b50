# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table of metrics, which is whole at any moment."""

import csv
import itertools
import math
import pathlib

from absl import logging
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.programs import durable_files

_KEY = 'round'


class MetricsFile(tff.program.ReleaseManager):
  """A CSV file with a row for each round.

  TFF's manager writes it: a new file, renamed, so that no row is ever half
  there; a row replaces those of its round and of later ones. What is added
  here: each row is on the disk before the round's state is saved, bad files get
  an error that names them, and what others put in the table's place while it is
  in use costs no row.
  """

  def __init__(self, path: pathlib.Path):
    """Reads the table, if there is one, and removes what a kill left.

    Args:
      path: The file, in a folder that is there.

    Raises:
      durable_files.OutputError: If it is damaged or cannot be written, or is no
        file.
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
      self._content = path.read_bytes()

  async def release(
    self, value: tff.program.ReleasableStructure, key: int
  ) -> None:
    """Writes a row; when this returns it is on the disk.

    If the table is not as it was left, what is there is renamed to
    `<name>.damaged1`, a warning says so, and the table has its rows again.

    Args:
      value: Its values, in any structure. NaN makes an empty cell.
      key: Its round. Rows of this and of later rounds go.

    Raises:
      durable_files.OutputError: If it cannot be written.
    """
    with durable_files.naming(self._path):
      self._restore()
      await self._table.release(tf.nest.map_structure(_to_cell, value), key)
      durable_files.sync(self._path)
      durable_files.sync(self._path.parent)
      self._content = self._path.read_bytes()

  def _restore(self) -> None:
    """Puts the table back if it has been removed, changed or replaced."""
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
  """Returns a name that is free for what was found in the place of a file."""
  for number in itertools.count(1):
    name = path.with_name(f'{path.name}.damaged{number}')
    if not (name.exists() or name.is_symlink()):
      return name


def _to_cell(value: float) -> float | str:
  return '' if math.isnan(value) else value


def _check(path: pathlib.Path) -> None:
  """Raises a ValueError or csv.Error now, and not when a row is written."""
  found = durable_files.describe_special_file(path)
  if found is not None:
    raise ValueError(f'it is {found}, not a file')
  if not path.exists():
    return
  # As TFF's manager takes it, to which nothing else ends a line.
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
