# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Restores the settings of an experiment from its `hparams.json`."""

from collections.abc import Mapping
import json
from typing import Any

from tff_semifl import settings
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import image_task
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import system_registry
from tff_semifl.runs import hparams_file
from tff_semifl.runs import saved_experiment

# Recorded for all systems, whether as a setting or derived from others.
_OF_ALL = {'task', 'total_rounds', 'num_labeled', 'num_clients', 'dry_run'}


def restore(
  hparams: hparams_file.Hparams,
  chosen_task: image_task.ChosenTask,
  instead: Mapping[str, Any],
) -> experiment_settings.ExperimentSettings:
  """Restores the settings of a recorded experiment.

  `instead` has settings that override the record, such as where moved data are.
  """
  values = {**hparams.flags, **instead}
  system = system_registry.load(hparams.system)
  try:
    # Settings that do not exist are reported below, with another remedy.
    experiment = experiment_settings.create(
      hparams.system, system, chosen_task, values, lenient=True
    )
  except settings.SettingError as error:
    raise saved_experiment.SavedExperimentError(
      f'its settings cannot be restored here and now: {error}'
    ) from error
  known = (
    # Includes parts from outside, and settings of other choices.
    settings.as_dict(experiment).keys()
    | settings.all_names(experiment)
    | settings.all_names(chosen_task)
    | run_settings.UNIMPORTANT
    | _OF_ALL
  )
  for name, value in values.items():
    if name not in known and value is not None:
      raise saved_experiment.SavedExperimentError(
        'was run by another version of this program, with a setting that this'
        f' one has not: {name}={value}'
      )
  found = experiment.identify()
  if hparams.parts is not None:
    # The system is not compared: it only trained the model.
    for name in ('task', 'model'):
      difference = hparams_file.find_other_part(
        hparams.parts.get(name), found[name], name
      )
      if difference is not None:
        raise saved_experiment.SavedExperimentError(
          f'is an experiment {difference}'
        )
  return experiment


def find_changes(
  hparams: hparams_file.Hparams,
  chosen_task: image_task.ChosenTask,
  experiment: experiment_settings.ExperimentSettings,
) -> dict[str, Any]:
  """The settings of a restored experiment that differ from the defaults."""
  system = system_registry.load(hparams.system)

  def create(values: Mapping[str, Any]) -> dict[str, Any]:
    # Converts values as JSON does.
    return json.loads(
      json.dumps(
        settings.as_dict(
          experiment_settings.create(
            hparams.system, system, chosen_task, values, lenient=True
          )
        )
      )
    )

  settings_of_it = list(settings.describe(experiment))
  choices = {
    each.name: hparams.flags[each.name]
    for each in settings_of_it
    if each.is_choice and hparams.flags.get(each.name) is not None
  }
  # The chosen parts determine which settings exist, and their defaults.
  defaults_of_choices = create({'task': choices['task']})
  defaults = create(choices)
  return {
    each.name: value
    for each in settings_of_it
    if (value := hparams.flags.get(each.name)) is not None
    and (
      each.name == 'task'
      or value
      != (defaults_of_choices if each.is_choice else defaults).get(each.name)
    )
  }
