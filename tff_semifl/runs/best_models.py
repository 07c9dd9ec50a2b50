# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Models of the best rounds, in files beside the checkpoints.

A new best model is on the disk before the checkpoint that names it. The models
that kept checkpoints name are kept.
"""

from collections.abc import Mapping
import pathlib
from typing import Any, NamedTuple

import numpy as np

from tff_semifl.files import array_files
from tff_semifl.files import durable_files


class BestModel(NamedTuple):
  """The model of a round.

  Attributes:
    global_model_weights: Its weights.
    round_num: The round.
    accuracy: On the images that it was evaluated on.
    value: The metric that chose it.
  """

  global_model_weights: Any
  round_num: int
  accuracy: float
  value: float


class BestModels:
  """The files `<folder>/best_model_<round>.npz`."""

  def __init__(self, folder: pathlib.Path, *, num_kept: int):
    """Initializes the files; nothing is read or written yet.

    Args:
      folder: Their folder, created when the first is saved.
      num_kept: The number of models to keep: one more than checkpoints.
    """
    self._folder = folder
    self._num_kept = num_kept

  def resume(self, round_num: int) -> None:
    """Checks a round's model, and removes those of later rounds.

    Args:
      round_num: The best round of the checkpoint; -1 if it has none.

    Raises:
      durable_files.OutputError: If its model is missing or damaged.
    """
    if self._folder.exists():
      with durable_files.naming(self._folder):
        durable_files.remove_unfinished(self._folder)
        for later in self._rounds():
          if later > round_num:
            _path(self._folder, later).unlink()
    if round_num >= 0:
      read(self._folder, round_num)

  def save(self, model: BestModel) -> None:
    """Saves a model; it is on the disk when this returns.

    Args:
      model: The model, of a later round than the saved ones.

    Raises:
      durable_files.OutputError: If it cannot be written.
    """
    with durable_files.naming(self._folder):
      self._folder.mkdir(exist_ok=True)
      array_files.write(_path(self._folder, model.round_num), model)
      for old in self._rounds()[: -self._num_kept]:
        _path(self._folder, old).unlink()

  def load(self, round_num: int, weights: Any) -> BestModel:
    """Loads a round's model.

    Args:
      round_num: The round.
      weights: Weights of the same structure.

    Raises:
      durable_files.OutputError: If it is missing, damaged or of another
        structure.
    """
    arrays = read(self._folder, round_num)
    like = BestModel(weights, 0, 0.0, 0.0)
    try:
      found = array_files.pack_as(like, arrays)
    except ValueError as error:
      raise durable_files.OutputError(
        f'{_path(self._folder, round_num)} is of another model: {error}'
      ) from error
    return found._replace(
      round_num=round_num,
      accuracy=found.accuracy.item(),
      value=found.value.item(),
    )

  def _rounds(self) -> list[int]:
    numbers = (
      path.stem.rpartition('_')[2]
      for path in self._folder.glob('best_model_*.npz')
    )
    return sorted(int(number) for number in numbers if number.isdecimal())


def read(folder: pathlib.Path, round_num: int) -> Mapping[str, np.ndarray]:
  """Reads the model of a round, of any structure.

  Args:
    folder: The folder of the models.
    round_num: The round.

  Returns:
    The arrays of a `BestModel` by name, as in `array_files`.

  Raises:
    durable_files.OutputError: If it is missing or damaged.
  """
  path = _path(folder, round_num)
  try:
    arrays = array_files.read(path)
    if arrays.get('round_num') != round_num:
      raise array_files.DamagedFileError(f'{path} is of another round')
  except array_files.DamagedFileError as error:
    raise durable_files.OutputError(
      f'{error}; the newest checkpoint names it as the best model: put a good'
      ' copy in its place, or train anew in another --output_dir'
    ) from error
  return arrays


def _path(folder: pathlib.Path, round_num: int) -> pathlib.Path:
  return folder / f'best_model_{round_num}.npz'
