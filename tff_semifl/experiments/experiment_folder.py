# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Opens the folder of an experiment, and records its settings."""

from collections.abc import Mapping, Sequence
import types
from typing import Any

from tff_semifl import settings as settings_lib
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import image_task
from tff_semifl.experiments import run_settings
from tff_semifl.runs import hparams_file
from tff_semifl.runs import outputs

_NOTHING = types.MappingProxyType({})


def open_folder(
  experiment: experiment_lib.Experiment,
  computed: Mapping[str, Any] = _NOTHING,
) -> outputs.ExperimentFolder:
  """Creates or opens an experiment's folder.

  Args:
    experiment: The experiment.
    computed: Values of settings of the runtime by name, to be recorded, too.
      They may change when the run is resumed.

  Raises:
    durable_files.OutputError: If the folder is not writable, holds another
      experiment, or lacks the key of a private one.
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

  Settings are filled in. `recorded` has all settings by name, as recorded;
  `identity` is from `ExperimentSettings.identify`; notes are on the data.
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
  """The settings by name as recorded, with sizes that the task decides on."""
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
  """Filled-in settings by name as recorded, always with `total_rounds`."""
  return {
    'total_rounds': settings.system.total_rounds,
    **settings_lib.as_dict(settings),
    **settings_lib.as_dict(run),
  }
