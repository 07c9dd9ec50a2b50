# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The folder of an experiment: its results, and the settings they are of."""

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
  """Makes or finds the experiment's folder.

  Args:
    experiment: The experiment.
    computed: Values of settings by name that say how it is computed, to be
      written down with its own. They may change when it is resumed.

  Raises:
    durable_files.OutputError: If it cannot be written to, holds another
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
    folder.keep_privacy_key(
      experiment.privacy_key, experiment.training_program.total_rounds
    )
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
  """Makes or finds the folder of an experiment that is not built.

  Args:
    settings: The settings, with all defaults filled in.
    run: How it is run, likewise.
    task: What is learned.
    recorded: What is written down of all that.
    identity: What system, task and model are, beside their settings.
    notes: What is to be known of the data.

  Raises:
    durable_files.OutputError: If it cannot be written to, or holds another
      experiment.
  """
  part = settings.data.task
  given = ('num_labeled', 'num_clients') if part.gives_shares else ()
  return outputs.ExperimentFolder(
    run.path,
    recorded,
    {
      *run_settings.UNIMPORTANT,
      *settings.selection.may_change,
      *part.told_by_data,
      *given,
    },
    task.data_description,
    settings.system_name,
    identity,
    hparams_file.Length(
      ('total_rounds', *settings.system.lengths),
      may_grow=settings.system.rounds_may_be_added,
    ),
    notes,
  )


def recorded_settings(experiment: experiment_lib.Experiment) -> dict[str, Any]:
  """Returns the settings of an experiment, as they are written down.

  Numbers of labels and clients are there too where the task decides on them.
  """
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
  """Returns settings by name, as they are written down.

  `total_rounds` is there for all.

  Args:
    settings: The settings, with all defaults filled in.
    run: How it is run, likewise.
  """
  return {
    'total_rounds': settings.system.total_rounds,
    **settings_lib.as_dict(settings),
    **settings_lib.as_dict(run),
  }
