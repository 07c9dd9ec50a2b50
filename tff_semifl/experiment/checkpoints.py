# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Saves and loads checkpoints, and detects damaged files.

`tff.program.FileProgramStateManager` writes a SavedModel with an operation for
each array, which takes more than a second for a WideResNet-28-2.
"""

from collections.abc import Sequence
import pathlib
import re
from typing import Any, TypeVar

from absl import logging
import numpy as np

from tff_semifl.files import durable_files

# A file in an experiment's folder.
FROZEN_WEIGHTS = 'frozen_weights.npz'

State = TypeVar('State')


class Checkpoints:
  """The newest checkpoints of a run: `<folder>/program_state_<version>.npz`.

  The version is the number of the round. A file gets its name after its content
  is on the disk, so a killed process leaves only complete files. Damaged files,
  and files whose `round_num` differs from the version, are not read.
  """

  def __init__(self, folder: pathlib.Path, *, num_kept: int):
    """Creates the folder if needed, and removes unfinished files from it."""
    self._folder = folder
    self._num_kept = num_kept
    with durable_files.naming(folder):
      folder.mkdir(parents=True, exist_ok=True)
      durable_files.remove_unfinished(folder)

  def load_latest(self, structure: State) -> State | None:
    """The newest intact state, packed like `structure`; None if none exists."""
    latest = read_latest(self._folder)
    if latest is None:
      return None
    arrays, version = latest
    try:
      return durable_files.pack_as(structure, arrays)
    except ValueError as error:
      raise durable_files.OutputError(
        f'{_path(self._folder, version)} has no state of this program, but'
        f' perhaps of another version ({error}); continue with that version, or'
        ' choose another folder'
      ) from error

  def save(self, state: Any, version: int) -> None:
    """Saves a version durably, and keeps only the newest `num_kept` versions.

    If the version cannot be written, the existing versions stay.
    """
    path = _path(self._folder, version)
    with durable_files.naming(path):
      durable_files.write_arrays(path, state)
      # Later versions do not count: they are damaged, because training would
      # have resumed from an intact version.
      before = [n for n in _versions(self._folder) if n <= version]
      for old in before[: -self._num_kept]:
        _path(self._folder, old).unlink()


def read_latest(
  folder: pathlib.Path,
) -> tuple[dict[str, np.ndarray], int] | None:
  """Reads the newest intact checkpoint; None if there is no checkpoint.

  Returns arrays, by the names of `durable_files.write_arrays`, and the version.
  Raises an OutputError if checkpoints exist but none is intact. Only reads, so
  a run may use the folder meanwhile.
  """
  damage = None
  for version in reversed(_versions(folder)):
    try:
      return _read(_path(folder, version), version), version
    except durable_files.DamagedFileError as error:
      logging.warning('%s; it is left out', error)
      damage = error
  if damage is None:
    return None
  raise durable_files.OutputError(
    f'no checkpoint in {folder} is intact ({damage}); put a good copy in its'
    ' place, or remove that folder to train from the beginning'
  )


def _path(folder: pathlib.Path, version: int) -> pathlib.Path:
  return folder / f'program_state_{version}.npz'


def _versions(folder: pathlib.Path) -> list[int]:
  """The versions in a folder, in ascending order; ignores other files."""
  pattern = re.compile(r'program_state_(0|[1-9][0-9]*)\.npz')
  found = (pattern.fullmatch(path.name) for path in folder.glob('program_*'))
  return sorted(int(match[1]) for match in found if match)


def _read(path: pathlib.Path, round_num: int) -> dict[str, np.ndarray]:
  arrays = durable_files.read_arrays(path)
  found = arrays.get('round_num', round_num)
  if found != round_num:
    raise durable_files.DamagedFileError(
      f'{path} has the name of another round: it is of round {found}'
    )
  return arrays


def keep_frozen_weights(
  folder: pathlib.Path, weights: Sequence[np.ndarray]
) -> None:
  """Saves a run's frozen weights, or checks that they equal saved weights."""
  path = folder / FROZEN_WEIGHTS
  if not path.exists():
    durable_files.write_arrays(path, list(weights))
    return
  try:
    kept = durable_files.pack_as(list(weights), durable_files.read_arrays(path))
    is_same = all(map(np.array_equal, kept, weights))
  except (durable_files.DamagedFileError, ValueError):
    is_same = False
  if not is_same:
    raise durable_files.OutputError(
      f'{path} has other frozen weights than the model has now; put the file of'
      ' weights back, or train anew with another --experiment_name'
    )


def read_frozen_weights(folder: pathlib.Path) -> tuple[np.ndarray, ...] | None:
  """Reads a run's frozen weights; None if none were saved."""
  path = folder / FROZEN_WEIGHTS
  if not path.exists():
    return None
  try:
    return tuple(durable_files.read_arrays(path).values())
  except durable_files.DamagedFileError as error:
    raise durable_files.OutputError(str(error)) from error
