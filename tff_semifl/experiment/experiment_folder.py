# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Opens an experiment's folder, and records and restores settings."""

from collections.abc import Mapping, Sequence
import json
import types
from typing import Any

from tff_semifl import settings as settings_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import image_task
from tff_semifl.experiment import outputs
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import system_registry

_NOTHING = types.MappingProxyType({})


def open_folder(
  experiment: experiment_lib.Experiment,
  computed: Mapping[str, Any] = _NOTHING,
) -> outputs.ExperimentFolder:
  """Creates or opens an experiment's folder.

  Args:
    experiment: The experiment.
    computed: Settings of the runtime by name, which are recorded too, and may
      change when the run is resumed.

  Raises:
    durable_files.OutputError: If the folder is not writable, holds another
      experiment, or lacks the key of a private experiment.
  """
  folder = take_folder(
    experiment.settings,
    experiment.run,
    experiment.task,
    {**recorded_settings(experiment), **computed},
    experiment.identity,
    experiment.data.notes,
  )
  frozen = experiment.classifier.variables.frozen
  if frozen:
    folder.keep_frozen_weights([weight.numpy() for weight in frozen])
  if experiment.privacy_key is not None:
    folder.keep_privacy_key(experiment.privacy_key, experiment.total_rounds)
  folder.record_length()
  return folder


def take_folder(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
  task: image_task.ImageTask,
  recorded: Mapping[str, Any],
  identity: Mapping[str, Any],
  notes: Sequence[str] = (),
) -> outputs.ExperimentFolder:
  """Creates or opens the folder of an experiment that is not built.

  `settings` must be filled in. `recorded` has all settings to record, by name.
  `identity` is from `ExperimentSettings.identify`; `notes` concern the data.
  """
  part = settings.data.task
  given = ('num_labeled', 'num_clients') if part.gives_shares else ()
  return outputs.ExperimentFolder(
    run.path,
    hparams_file.create(
      recorded,
      system=settings.system_name,
      data=task.data_description,
      parts=identity,
      notes=notes,
    ),
    {
      *run_settings.UNIMPORTANT,
      *settings.selection.may_change,
      *part.told_by_data,
      *settings.model.model.may_change,
      *given,
    },
    hparams_file.Length(
      ('total_rounds', *settings.system.lengths),
      may_grow=settings.system.rounds_may_be_added,
    ),
  )


def recorded_settings(experiment: experiment_lib.Experiment) -> dict[str, Any]:
  """All settings to record, by name, with sizes that the task determines."""
  given = {}
  if experiment.settings.data.task.gives_shares:
    num_labeled = len(experiment.data.labeled.labels)
    if experiment.settings.validates:
      num_labeled += len(experiment.data.test.labels)
    given = {
      'num_labeled': num_labeled,
      'num_clients': len(experiment.data.shares),
    }
  return {**given, **record(experiment.settings, experiment.run)}


def record(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
) -> dict[str, Any]:
  """Filled-in settings to record, by name, always with `total_rounds`."""
  return {
    'total_rounds': settings.system.total_rounds,
    **settings_lib.as_dict(settings),
    **settings_lib.as_dict(run),
  }


# Recorded for all systems, as a setting or derived from other settings.
_OF_ALL = {'task', 'total_rounds', 'num_labeled', 'num_clients', 'dry_run'}


def restore(
  hparams: hparams_file.Hparams,
  chosen_task: image_task.ChosenTask,
  instead: Mapping[str, Any],
) -> experiment_settings.ExperimentSettings:
  """Restores the settings of a recorded experiment.

  `instead` overrides recorded settings, such as the path of moved data.
  """
  values = {**hparams.flags, **instead}
  system = system_registry.load(str(hparams.system))
  try:
    # Settings that do not exist are reported below, with another remedy.
    experiment = experiment_settings.create(
      str(hparams.system), system, chosen_task, values, lenient=True
    )
  except settings_lib.SettingError as error:
    raise saved_experiment.SavedExperimentError(
      f'its settings cannot be restored here and now: {error}'
    ) from error
  known = (
    # Includes parts from outside, and settings of other choices.
    settings_lib.as_dict(experiment).keys()
    | settings_lib.all_names(experiment)
    | settings_lib.all_names(chosen_task)
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
    # The system is not compared, since the model is already trained.
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
  system = system_registry.load(str(hparams.system))

  def create(values: Mapping[str, Any]) -> dict[str, Any]:
    # Converts values as JSON does.
    return json.loads(
      json.dumps(
        settings_lib.as_dict(
          experiment_settings.create(
            str(hparams.system), system, chosen_task, values, lenient=True
          )
        )
      )
    )

  settings_of_it = list(settings_lib.describe(experiment))
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
