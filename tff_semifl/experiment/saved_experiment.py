# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads the record and the trained model in an experiment's folder.

Nothing is written, so a run may use the folder at the same time.
"""

from collections.abc import Mapping
import itertools
import math
import pathlib
from typing import NamedTuple

import numpy as np

from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import hparams_file
from tff_semifl.models import functional


class SavedExperimentError(Exception):
  """A folder holds no experiment, or an experiment without a model."""


class Choice(NamedTuple):
  """How the round of the kept model was chosen.

  `metric` is the column of the metric, None for the last round. If the metric
  was NaN in all rounds, `value` is NaN and the last round was chosen.
  """

  metric: str | None
  last_round: int
  value: float = math.nan

  @property
  def is_best(self) -> bool:
    """Whether a metric chose the round."""
    return self.metric is not None and not math.isnan(self.value)

  @property
  def is_by_test(self) -> bool:
    """Whether the round was chosen on the test images."""
    return self.is_best and self.metric.startswith('test/')

  def describe(self) -> str:
    """Why the round was chosen, as text that follows the round's number."""
    if self.metric is None:
      return 'the last'
    if not self.is_best:
      return f'the last, as {self.metric} was not defined in any'
    return (
      f'the first with the best {self.metric} ({self.value:.4g}) up to round'
      f' {self.last_round}'
    )


class TrainedModel(NamedTuple):
  """The model that a run keeps, of the best round or else of the last round.

  `accuracy` is the kept model's; `best_accuracy` is the highest of all rounds.
  `frozen_weights` is None if none were saved.
  """

  weights: functional.ModelWeights
  round_num: int
  accuracy: float
  best_accuracy: float
  choice: Choice
  frozen_weights: tuple[np.ndarray, ...] | None = None

  @property
  def last_round(self) -> int:
    return self.choice.last_round


def read_hparams(folder: pathlib.Path) -> hparams_file.Hparams:
  """Reads an experiment's `hparams.json`."""
  path = folder / hparams_file.NAME
  try:
    return hparams_file.read(path)
  except OSError as error:
    raise SavedExperimentError(
      f'is no folder of an experiment, which would be'
      f' <output_dir>/<experiment_name>: cannot read {path}: {error.strerror}'
    ) from error
  except ValueError as error:
    raise SavedExperimentError(str(error)) from error


def read_trained_model(folder: pathlib.Path) -> TrainedModel:
  """Reads the model that a run keeps, and its results.

  The model, the last or the best, is in the newest intact checkpoint. Raises a
  SavedExperimentError without a checkpoint, and an OutputError if no checkpoint
  or no file of frozen weights is intact.
  """
  latest = checkpoints.read_latest(folder / 'checkpoints')
  if latest is None:
    raise SavedExperimentError(
      'has no checkpoint yet: no round has been completed'
    )
  arrays, last_round = latest
  try:
    best_accuracy = float(arrays['best_accuracy'])
    prefix, weights = '', 'state/global_model_weights'
    choice = Choice(None, last_round)
    if 'best/round_num' in arrays:
      choice = choice._replace(metric=read_hparams(folder).flags['keep_best'])
      if arrays['best/round_num'] >= 0:
        prefix, weights = 'best/', 'best/weights'
        choice = choice._replace(value=float(arrays['best/value']))
    return TrainedModel(
      functional.ModelWeights(
        *(
          _sequence(arrays, f'{weights}/{kind}')
          for kind in functional.ModelWeights._fields
        )
      ),
      round_num=int(arrays[f'{prefix}round_num']),
      accuracy=float(arrays[f'{prefix}accuracy']),
      best_accuracy=best_accuracy,
      choice=choice,
      frozen_weights=checkpoints.read_frozen_weights(folder),
    )
  except KeyError as error:
    raise SavedExperimentError(
      f'has a checkpoint of another program: there is no {error} in it'
    ) from error


def _sequence(
  arrays: Mapping[str, np.ndarray], name: str
) -> tuple[np.ndarray, ...]:
  names = itertools.takewhile(
    arrays.__contains__, (f'{name}/{index}' for index in itertools.count())
  )
  return tuple(arrays[each] for each in names)
