# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checkpoints, in files that are complete or recognized as damaged.

TFF's own manager writes a SavedModel with an operation for each array, which
takes more than a second for a WideResNet-28-2.
"""

from collections.abc import Sequence
import pathlib
import re
from typing import Any, TypeVar

from absl import logging
import numpy as np

from tff_semifl.files import durable_files

State = TypeVar('State')


class Checkpoints:
  """The latest versions of a state: `<folder>/program_state_<version>.npz`.

  A version gets its name once it is on the disk, so a kill leaves complete
  versions only. Versions that are damaged later, or whose `round_num` is not
  the version in their name, are not read.
  """

  def __init__(self, folder: pathlib.Path, *, num_kept: int):
    """Creates the folder if needed, and removes unfinished files from it."""
    self._folder = folder
    self._num_kept = num_kept
    with durable_files.naming(folder):
      folder.mkdir(parents=True, exist_ok=True)
      durable_files.remove_unfinished(folder)

  def load_latest(self, structure: State) -> State | None:
    """The newest intact version, if any; the log names damaged ones."""
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
    """Saves a version durably, and removes the oldest versions before it.

    A damaged version of that number is replaced, with a warning in the log. If
    the version cannot be written, the existing versions stay.
    """
    path = _path(self._folder, version)
    if path.exists() or path.is_symlink():
      try:
        _read(path, version)
      except durable_files.DamagedFileError as error:
        logging.warning('%s; it is replaced', error)
      else:
        raise durable_files.OutputError(
          f'{path} is there, and was not when this run began; move it away, and'
          ' the same command goes on'
        )
    with durable_files.naming(path):
      durable_files.write_arrays(path, state)
      # Later versions, if any, are damaged, or training would have resumed from
      # them; they do not count.
      before = [n for n in _versions(self._folder) if n <= version]
      for old in before[: -self._num_kept]:
        # A folder of that name is no checkpoint.
        if not _path(self._folder, old).is_dir():
          _path(self._folder, old).unlink()


def read_latest(
  folder: pathlib.Path,
) -> tuple[dict[str, np.ndarray], int] | None:
  """The newest intact version, of a state of any structure, or None.

  Nothing is written or removed, so a run may use the folder meanwhile. The
  arrays are named as by `durable_files.write_arrays`.
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


def _versions(folder: pathlib.Path) -> Sequence[int]:
  """The versions in a folder, the newest last."""
  names = (path.name for path in folder.glob('program_state_*'))
  # Ignores files with other names.
  pattern = re.compile(r'program_state_(0|[1-9][0-9]*)\.npz')
  return sorted(
    int(match[1]) for match in map(pattern.fullmatch, names) if match
  )


def _read(path: pathlib.Path, version: int) -> dict[str, np.ndarray]:
  """The arrays of a version; a DamagedFileError if it is of another round."""
  arrays = durable_files.read_arrays(path)
  round_num = arrays.get('round_num')
  if round_num is not None and round_num != version:
    raise durable_files.DamagedFileError(
      f'{path} has the name of another round: it holds the state after round'
      f' {round_num} and belongs in {_path(path.parent, round_num)}'
    )
  return arrays
