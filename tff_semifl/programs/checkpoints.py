# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checkpoints that are whole, or known not to be.

TFF's own manager of program states writes a SavedModel, whose graph has an
operation for each array: that takes more than a second for a WideResNet-28-2.
"""

from collections.abc import Sequence
import pathlib
import re

from absl import logging
import numpy as np
import tensorflow_federated as tff

from tff_semifl.programs import array_files
from tff_semifl.programs import durable_files


class CheckpointExistsError(
  durable_files.OutputError, tff.program.ProgramStateExistsError
):
  """Somebody else has put a checkpoint where the next one is to be."""

  def __init__(self, path: pathlib.Path):
    """Initialises the error.

    Args:
      path: The checkpoint that there is.
    """
    Exception.__init__(
      self,
      f'{path} is there, and was not when this run began; move it away, and the'
      ' same command goes on',
    )


class Checkpoints(tff.program.ProgramStateManager):
  """The last versions of a state: `<folder>/program_state_<version>.npz`.

  Each takes its place when it is on the disk as a whole, so a kill leaves
  nothing but whole versions. One that was damaged later is not read, nor one
  that holds the state after another round (`round_num`) than its name says.
  """

  def __init__(self, folder: pathlib.Path, *, num_kept: int):
    """Makes the folder, if need be, and removes what a kill left in it.

    Args:
      folder: Where the checkpoints are, or will be.
      num_kept: How many of them to keep.

    Raises:
      durable_files.OutputError: If the folder cannot be written to.
    """
    self._folder = folder
    self._num_kept = num_kept
    with durable_files.naming(folder):
      folder.mkdir(parents=True, exist_ok=True)
      durable_files.remove_unfinished(folder)

  async def get_versions(self) -> list[int] | None:
    """Returns the versions that there are, damaged or not; None for none."""
    return _versions(self._folder) or None

  async def load(
    self, version: int, structure: tff.program.ProgramStateStructure
  ) -> tff.program.ProgramStateStructure:
    """Returns a version.

    Args:
      version: Which.
      structure: What its structure is.

    Raises:
      durable_files.OutputError: If it is damaged or has another structure.
      tff.program.ProgramStateNotFoundError: If there is none.
    """
    path = _path(self._folder, version)
    if not path.exists():
      raise tff.program.ProgramStateNotFoundError(version)
    try:
      arrays = _read(path, version)
    except array_files.DamagedFileError as error:
      raise durable_files.OutputError(str(error)) from error
    return _pack_as(structure, arrays, path)

  async def load_latest(
    self, structure: tff.program.ProgramStateStructure
  ) -> tuple[tff.program.ProgramStateStructure | None, int]:
    """Returns the newest version that is intact, and its number.

    Those that are not are named in the log.

    Args:
      structure: What its structure is.

    Returns:
      The state and its version, or (None, 0) if nothing was ever saved.

    Raises:
      durable_files.OutputError: If there are versions, and all are damaged, or
        the newest that is not has another structure.
    """
    latest = read_latest(self._folder)
    if latest is None:
      return None, 0
    arrays, version = latest
    return _pack_as(structure, arrays, _path(self._folder, version)), version

  async def save(
    self, program_state: tff.program.ProgramStateStructure, version: int
  ) -> None:
    """Saves a version, and removes the oldest of those before it.

    When this returns it is on the disk.

    Args:
      program_state: The state.
      version: Its number. A damaged version of that number is replaced, and
        the log says so.

    Raises:
      durable_files.OutputError: If it cannot be written. The versions that
        there are stay as they are.
      CheckpointExistsError: If there is an intact one already.
    """
    path = _path(self._folder, version)
    if path.exists() or path.is_symlink():
      try:
        _read(path, version)
      except array_files.DamagedFileError as error:
        logging.warning('%s; it is replaced', error)
      else:
        raise CheckpointExistsError(path)
    state = await tff.program.materialize_value(program_state)
    with durable_files.naming(path):
      array_files.write(path, state)
      # Those after it, if any, are damaged: it was trained from what is before.
      before = [n for n in _versions(self._folder) if n <= version]
      for old in before[: -self._num_kept]:
        # A folder is none of ours.
        if not _path(self._folder, old).is_dir():
          _path(self._folder, old).unlink()


def read_latest(
  folder: pathlib.Path,
) -> tuple[dict[str, np.ndarray], int] | None:
  """Returns the newest version that is intact, whatever was saved.

  Nothing is written or removed, so that a run may go on meanwhile.

  Args:
    folder: Where the checkpoints are.

  Returns:
    The arrays of the state by their names, as in `array_files`, and its
    version; None if nothing was saved.

  Raises:
    durable_files.OutputError: If there are versions, and all are damaged.
  """
  damage = None
  for version in reversed(_versions(folder)):
    try:
      return _read(_path(folder, version), version), version
    except array_files.DamagedFileError as error:
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


def _versions(folder: pathlib.Path) -> Sequence[int]:
  """Returns the versions in a folder, the newest last."""
  names = (path.name for path in folder.glob('program_state_*'))
  # Files of other names are somebody else's.
  pattern = re.compile(r'program_state_(0|[1-9][0-9]*)\.npz')
  return sorted(
    int(match[1]) for match in map(pattern.fullmatch, names) if match
  )


def _read(path: pathlib.Path, version: int) -> dict[str, np.ndarray]:
  """Reads a version; raises a DamagedFileError for that of another round."""
  arrays = array_files.read(path)
  round_num = arrays.get('round_num')
  if round_num is not None and round_num != version:
    raise array_files.DamagedFileError(
      f'{path} has a name that is not its own: it holds the state after round'
      f' {round_num} and belongs in {_path(path.parent, round_num)}'
    )
  return arrays


def _pack_as(structure, arrays, path):
  try:
    return array_files.pack_as(structure, arrays)
  except ValueError as error:
    raise durable_files.OutputError(
      f'{path} has no state of this program, but perhaps of another version of'
      f' it ({error}); go on with that one, or choose another folder'
    ) from error
