# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checkpoints and best models, in files that are complete or known as damaged.

TFF's own manager writes a SavedModel with an operation for each array, which
takes more than a second for a WideResNet-28-2. A new best model is on the disk
before the checkpoint that names it, and stays while any kept checkpoint does.
"""

from collections.abc import Mapping, Sequence
import pathlib
import re
from typing import Any, NamedTuple, TypeVar

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

    If the version cannot be written, the existing versions stay.
    """
    path = _path(self._folder, version)
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


class BestModel(NamedTuple):
  """The model of a round, its accuracy, and the metric that chose it."""

  global_model_weights: Any
  round_num: int
  accuracy: float
  value: float


class BestModels:
  """The files `<folder>/best_model_<round>.npz`.

  `num_kept` must be one more than the number of checkpoints.
  """

  def __init__(self, folder: pathlib.Path, *, num_kept: int):
    self._folder = folder
    self._num_kept = num_kept

  def resume(self, round_num: int) -> None:
    """Checks the model of a checkpoint's best round, and removes later ones.

    A `round_num` of -1 means that the checkpoint has no best round.
    """
    if self._folder.exists():
      with durable_files.naming(self._folder):
        durable_files.remove_unfinished(self._folder)
        for later in self._rounds():
          if later > round_num:
            _best_path(self._folder, later).unlink()
    if round_num >= 0:
      read_best_model(self._folder, round_num)

  def save(self, model: BestModel) -> None:
    """Saves a model of a later round; it is on the disk when this returns."""
    with durable_files.naming(self._folder):
      self._folder.mkdir(exist_ok=True)
      durable_files.write_arrays(
        _best_path(self._folder, model.round_num), model
      )
      for old in self._rounds()[: -self._num_kept]:
        _best_path(self._folder, old).unlink()

  def _rounds(self) -> list[int]:
    numbers = (
      path.stem.rpartition('_')[2]
      for path in self._folder.glob('best_model_*.npz')
    )
    return sorted(int(number) for number in numbers if number.isdecimal())


def read_best_model(
  folder: pathlib.Path, round_num: int
) -> Mapping[str, np.ndarray]:
  """A round's model, as the arrays of a `BestModel` by name."""
  path = _best_path(folder, round_num)
  try:
    arrays = durable_files.read_arrays(path)
    if arrays.get('round_num') != round_num:
      raise durable_files.DamagedFileError(f'{path} is of another round')
  except durable_files.DamagedFileError as error:
    raise durable_files.OutputError(
      f'{error}; the newest checkpoint names it as the best model: put a good'
      ' copy in its place, or train anew in another --output_dir'
    ) from error
  return arrays


def _best_path(folder: pathlib.Path, round_num: int) -> pathlib.Path:
  return folder / f'best_model_{round_num}.npz'
