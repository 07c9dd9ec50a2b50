# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The best round by a metric, early stopping, and the best models' files.

A new best model is on the disk before the checkpoint that names it, and stays
while any kept checkpoint names it.
"""

from collections.abc import Mapping
import dataclasses
import math
import pathlib
from typing import Any, NamedTuple

import numpy as np

from tff_semifl.files import durable_files


class Best(NamedTuple):
  """The best evaluated round, which a checkpoint holds.

  Attributes:
    value: The metric after this round; NaN if it was NaN in all rounds.
    round_num: The first round with this value; -1 if there is none.
    num_since: Evaluations since this round, or since the beginning.
  """

  value: float = math.nan
  round_num: int = -1
  num_since: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelChoice:
  """The metric that selects a model, and the patience of early stopping.

  Attributes:
    column: The metric's column in `metrics.csv`.
    higher_is_better: Whether a higher value is better.
    stop_after: Training ends after this many evaluations without improvement;
      None for never.
  """

  column: str
  higher_is_better: bool
  stop_after: int | None = None

  def update(
    self, best: Best, round_num: int, columns: Mapping[str, float]
  ) -> Best:
    """The best round after a further one; the first of equal ones."""
    value = columns[self.column]
    is_better = (
      value > best.value if self.higher_is_better else (value < best.value)
    )
    # A comparison with NaN is false.
    if is_better or (math.isnan(best.value) and not math.isnan(value)):
      return Best(value, round_num, 0)
    return best._replace(num_since=best.num_since + 1)

  def is_over(self, best: Best) -> bool:
    """Whether training stops early."""
    return self.stop_after is not None and best.num_since >= self.stop_after


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
            _path(self._folder, later).unlink()
    if round_num >= 0:
      read(self._folder, round_num)

  def save(self, model: BestModel) -> None:
    """Saves a model of a later round; it is on the disk when this returns."""
    with durable_files.naming(self._folder):
      self._folder.mkdir(exist_ok=True)
      durable_files.write_arrays(_path(self._folder, model.round_num), model)
      for old in self._rounds()[: -self._num_kept]:
        _path(self._folder, old).unlink()

  def _rounds(self) -> list[int]:
    numbers = (
      path.stem.rpartition('_')[2]
      for path in self._folder.glob('best_model_*.npz')
    )
    return sorted(int(number) for number in numbers if number.isdecimal())


def read(folder: pathlib.Path, round_num: int) -> Mapping[str, np.ndarray]:
  """A round's model, as the arrays of a `BestModel` by name."""
  path = _path(folder, round_num)
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


def _path(folder: pathlib.Path, round_num: int) -> pathlib.Path:
  return folder / f'best_model_{round_num}.npz'
