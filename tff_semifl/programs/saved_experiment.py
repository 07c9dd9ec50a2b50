# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The folder of an experiment, for whoever wants what was trained.

Nothing is written, so a run may be at work in the folder.
"""

from collections.abc import Mapping
import itertools
import json
import pathlib
from typing import Any, NamedTuple

import numpy as np

from tff_semifl.models import functional
from tff_semifl.programs import checkpoints
from tff_semifl.programs import durable_files


class SavedExperimentError(Exception):
  """A folder holds no experiment, or none with a model."""


class Hparams(NamedTuple):
  """What `hparams.json` says of an experiment.

  Attributes:
    flags: All flags of the program by name, with defaults filled in.
    data: Describes the data, where they may change under the same flags.
    versions: Those of Python and of packages, and the commit, by name.
    system: Name of what was trained, or None if it does not say.
  """

  flags: Mapping[str, Any]
  data: str | None
  versions: Mapping[str, str | None]
  system: str | None


class TrainedModel(NamedTuple):
  """What training has come to.

  Attributes:
    weights: Those of the global model.
    round_num: The last round that was run.
    accuracy: The test accuracy after it.
    best_accuracy: The highest test accuracy up to it.
  """

  weights: functional.ModelWeights
  round_num: int
  accuracy: float
  best_accuracy: float


def read_hparams(folder: pathlib.Path) -> Hparams:
  """Reads what an experiment was run with.

  Args:
    folder: `<output_dir>/<experiment_name>`.

  Raises:
    SavedExperimentError: If it is none.
  """
  path = folder / 'hparams.json'
  try:
    found = durable_files.describe_special_file(path)
    if found is not None:
      raise SavedExperimentError(f'{path} is {found}, not a file')
    hparams = json.loads(path.read_text())
    return Hparams(
      dict(hparams['flags']),
      hparams['data'],
      dict(hparams['versions']),
      hparams.get('system'),
    )
  except OSError as error:
    raise SavedExperimentError(
      f'is no folder of an experiment, which would be'
      f' <output_dir>/<experiment_name>: cannot read {path}: {error.strerror}'
    ) from error
  except (ValueError, KeyError, TypeError) as error:
    raise SavedExperimentError(
      f'{path} is not what an experiment writes'
    ) from error


def read_trained_model(folder: pathlib.Path) -> TrainedModel:
  """Reads the newest checkpoint that is intact.

  Args:
    folder: `<output_dir>/<experiment_name>`.

  Raises:
    SavedExperimentError: If there is no checkpoint.
    durable_files.OutputError: If all are damaged.
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
    )
  except KeyError as error:
    raise SavedExperimentError(
      f'has a checkpoint of another program: there is no {error} in it'
    ) from error


def _sequence(
  arrays: Mapping[str, np.ndarray], name: str
) -> tuple[np.ndarray, ...]:
  """Returns the arrays that a checkpoint has in a sequence of that name."""
  names = itertools.takewhile(
    arrays.__contains__, (f'{name}/{index}' for index in itertools.count())
  )
  return tuple(arrays[each] for each in names)
