# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reading of the settings and the trained model in an experiment's folder.

Nothing is written, so that a run may use the folder at the same time.
"""

from collections.abc import Mapping
import itertools
import pathlib
from typing import NamedTuple

import numpy as np

from tff_semifl.files import array_files
from tff_semifl.files import durable_files
from tff_semifl.models import functional
from tff_semifl.runs import checkpoints
from tff_semifl.runs import hparams_file
from tff_semifl.runs import outputs


class SavedExperimentError(Exception):
  """A folder holds no experiment, or an experiment without a model."""


class TrainedModel(NamedTuple):
  """The model of the newest intact checkpoint.

  Attributes:
    weights: Weights of the global model.
    round_num: The round after which it was saved.
    accuracy: The test accuracy after that round.
    best_accuracy: The highest test accuracy up to that round.
    frozen_weights: Weights of the global model that are not trained; None if
      none were saved.
  """

  weights: functional.ModelWeights
  round_num: int
  accuracy: float
  best_accuracy: float
  frozen_weights: tuple[np.ndarray, ...] | None = None


def read_hparams(folder: pathlib.Path) -> hparams_file.Hparams:
  """Reads the settings of an experiment.

  Args:
    folder: The folder `<output_dir>/<experiment_name>`.

  Returns:
    The content of its `hparams.json`.

  Raises:
    SavedExperimentError: If it is not the folder of an experiment.
  """
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
  """Reads the model of the newest intact checkpoint.

  Args:
    folder: The folder `<output_dir>/<experiment_name>`.

  Returns:
    The model and its results.

  Raises:
    SavedExperimentError: If there is no checkpoint.
    durable_files.OutputError: If all checkpoints are damaged, or the frozen
      weights are.
  """
  latest = checkpoints.read_latest(folder / 'checkpoints')
  if latest is None:
    raise SavedExperimentError(
      'has no checkpoint yet: no round has been completed'
    )
  arrays, _ = latest
  try:
    return TrainedModel(
      functional.ModelWeights(
        *(
          _sequence(arrays, f'state/global_model_weights/{kind}')
          for kind in functional.ModelWeights._fields
        )
      ),
      round_num=int(arrays['round_num']),
      accuracy=float(arrays['accuracy']),
      best_accuracy=float(arrays['best_accuracy']),
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
    return tuple(array_files.read(path).values())
  except array_files.DamagedFileError as error:
    raise durable_files.OutputError(str(error)) from error


def _sequence(
  arrays: Mapping[str, np.ndarray], name: str
) -> tuple[np.ndarray, ...]:
  """Returns the arrays of the sequence with this name in a checkpoint."""
  names = itertools.takewhile(
    arrays.__contains__, (f'{name}/{index}' for index in itertools.count())
  )
  return tuple(arrays[each] for each in names)
