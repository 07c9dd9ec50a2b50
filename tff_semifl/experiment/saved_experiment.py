# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads the settings and the trained model in an experiment's folder.

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
from tff_semifl.experiment import outputs
from tff_semifl.files import durable_files
from tff_semifl.models import functional


class SavedExperimentError(Exception):
  """A folder holds no experiment, or an experiment without a model."""


class Choice(NamedTuple):
  """How the round of the kept model was chosen.

  Attributes:
    metric: The column of the selecting metric; None for the last round.
    last_round: The last round that was run.
    value: The metric after the chosen round; NaN if the metric was NaN in all
      rounds, so that the last round was chosen.
  """

  metric: str | None
  last_round: int
  value: float = math.nan

  @property
  def is_best(self) -> bool:
    """Whether the round is the best by the metric."""
    return self.metric is not None and not math.isnan(self.value)

  @property
  def is_by_test(self) -> bool:
    """Whether the round was chosen on the test images."""
    return self.is_best and self.metric.startswith('test/')

  def describe(self) -> str:
    """Why this round was chosen: text to follow the round's number."""
    if self.metric is None:
      return 'the last'
    if not self.is_best:
      return f'the last, as {self.metric} was not defined in any'
    return (
      f'the first with the best {self.metric} ({self.value:.4g}) up to round'
      f' {self.last_round}'
    )


class TrainedModel(NamedTuple):
  """The model that a run keeps: the best model, or the newest checkpoint's.

  Attributes:
    weights: Weights of the global model.
    round_num: The model's round.
    accuracy: The accuracy after that round, on the evaluated images.
    best_accuracy: The highest accuracy of all rounds that were run.
    choice: How the round was chosen.
    frozen_weights: Weights of the global model that are not trained; None if
      none were saved.
  """

  weights: functional.ModelWeights
  round_num: int
  accuracy: float
  best_accuracy: float
  choice: Choice
  frozen_weights: tuple[np.ndarray, ...] | None = None

  @property
  def last_round(self) -> int:
    """The last round that was run."""
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

  The model comes from the newest intact checkpoint, or is the best model that
  this checkpoint names. Raises a SavedExperimentError without a checkpoint, and
  an OutputError if a file is damaged.
  """
  latest = checkpoints.read_latest(folder / 'checkpoints')
  if latest is None:
    raise SavedExperimentError(
      'has no checkpoint yet: no round has been completed'
    )
  arrays, last_round = latest
  try:
    best_accuracy = float(arrays['best_accuracy'])
    kept, prefix = arrays, 'state/'
    choice = Choice(None, last_round)
    if 'best/round_num' in arrays:
      choice = choice._replace(metric=read_hparams(folder).flags['keep_best'])
      best_round = int(arrays['best/round_num'])
      if best_round >= 0:
        kept = checkpoints.read_best_model(
          folder / outputs.BEST_MODELS_NAME, best_round
        )
        prefix = ''
        choice = choice._replace(value=float(kept['value']))
    return TrainedModel(
      functional.ModelWeights(
        *(
          _sequence(kept, f'{prefix}global_model_weights/{kind}')
          for kind in functional.ModelWeights._fields
        )
      ),
      round_num=int(kept['round_num']),
      accuracy=float(kept['accuracy']),
      best_accuracy=best_accuracy,
      choice=choice,
      frozen_weights=_read_frozen_weights(folder),
    )
  except KeyError as error:
    raise SavedExperimentError(
      f'has a checkpoint of another program: there is no {error} in it'
    ) from error


def _read_frozen_weights(
  folder: pathlib.Path,
) -> tuple[np.ndarray, ...] | None:
  path = folder / outputs.FROZEN_WEIGHTS_NAME
  if not path.exists():
    return None
  try:
    return tuple(durable_files.read_arrays(path).values())
  except durable_files.DamagedFileError as error:
    raise durable_files.OutputError(str(error)) from error


def _sequence(
  arrays: Mapping[str, np.ndarray], name: str
) -> tuple[np.ndarray, ...]:
  """The arrays of a named sequence in a checkpoint."""
  names = itertools.takewhile(
    arrays.__contains__, (f'{name}/{index}' for index in itertools.count())
  )
  return tuple(arrays[each] for each in names)
