# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads the settings and the trained model in an experiment's folder.

Nothing is written, so a run may use the folder at the same time.
"""

from collections.abc import Mapping
import itertools
import json
import math
import pathlib
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings as settings_lib
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.models import functional

# Settings that are recorded for all systems, perhaps derived from others.
_OF_ALL = {'task', 'total_rounds', 'dry_run', *experiment_settings.SIZES}


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
    """Whether the round is the best by the metric."""
    return self.metric is not None and not math.isnan(self.value)

  @property
  def is_by_test(self) -> bool:
    """Whether the round was chosen on the test images."""
    return self.is_best and self.metric.startswith('test/')

  def describe(self) -> str:
    """The reason for this round, as text to follow the round's number."""
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

  `accuracy` is the accuracy after its round, `best_accuracy` the highest of all
  rounds. `frozen_weights` is None if none were saved.
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
  SavedExperimentError without a checkpoint, and an OutputError if a file is
  damaged.
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
  """The arrays of a named sequence in a checkpoint."""
  names = itertools.takewhile(
    arrays.__contains__, (f'{name}/{index}' for index in itertools.count())
  )
  return tuple(arrays[each] for each in names)


def restore(
  hparams: hparams_file.Hparams, instead: Mapping[str, Any]
) -> experiment_settings.ExperimentSettings:
  """Restores the settings of a recorded experiment.

  `instead` overrides recorded settings, such as the path of moved data.
  """
  values = {**hparams.flags, **instead}
  try:
    # Unknown settings are reported below, with another remedy.
    experiment = _create(hparams.system, values)
  except settings_lib.SettingError as error:
    raise SavedExperimentError(
      f'its settings cannot be restored here and now: {error}'
    ) from error
  known = (
    # Includes parts from outside, and settings of other choices.
    settings_lib.as_dict(experiment).keys()
    | settings_lib.all_names(experiment)
    | settings_lib.all_names(task_registry.ChosenTask())
    | run_settings.UNIMPORTANT
    | _OF_ALL
  )
  for name, value in values.items():
    if name not in known and value is not None:
      raise SavedExperimentError(
        'was run by another version of this program, with a setting that this'
        f' one has not: {name}={value}'
      )
  found, recorded = experiment.identify(), hparams.parts or {}
  # The system is not compared, because the model is already trained.
  for name in {'task', 'model'} & recorded.keys():
    difference = hparams_file.find_other_part(recorded[name], found[name], name)
    if difference is not None:
      raise SavedExperimentError(f'is an experiment {difference}')
  return experiment


def find_changes(
  hparams: hparams_file.Hparams,
  experiment: experiment_settings.ExperimentSettings,
) -> dict[str, Any]:
  """The settings of a restored experiment that differ from the defaults."""
  described = list(settings_lib.describe(experiment))
  choices = {
    each.name: hparams.flags[each.name]
    for each in described
    if each.is_choice and hparams.flags.get(each.name) is not None
  }

  def find_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    created = settings_lib.as_dict(_create(hparams.system, values))
    # JSON converts some values.
    return json.loads(json.dumps(created))

  # The chosen parts determine which settings exist, and their defaults.
  of_choices = find_defaults({'task': choices['task']})
  of_others = find_defaults(choices)
  return {
    each.name: value
    for each in described
    if (value := hparams.flags.get(each.name)) is not None
    and (
      each.name == 'task'
      or value != (of_choices if each.is_choice else of_others).get(each.name)
    )
  }


def _create(
  system_name: str | None, values: Mapping[str, Any]
) -> experiment_settings.ExperimentSettings:
  """The settings of a system; values of unknown settings are ignored."""
  return experiment_settings.create(
    str(system_name),
    system_registry.load(str(system_name)),
    task_registry.ChosenTask(),
    values,
    lenient=True,
  )
