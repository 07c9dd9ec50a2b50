# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems and tasks that a command line can name."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from tasks import registry as tasks
from tff_semifl import settings
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import image_task
from tff_semifl.experiments import references
from tff_semifl.systems import registry as systems
from tff_semifl.systems import system as system_lib


def _load_task(reference: str) -> image_task.Task:
  """Returns a task outside of this repository: an instance, or a class."""
  found = references.load(reference)
  if isinstance(found, type) and issubclass(found, image_task.Task):
    return found()
  if not isinstance(found, image_task.Task):
    raise ValueError(f'is a {type(found).__name__}; must be a Task')
  return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenTask(experiment_settings.ChosenTask):
  """The task that a command line names."""

  task: image_task.Task = settings.choice(
    tasks.TASKS,
    'digits',
    'What to learn; image_folder is for images of your own, in --image_dir.',
    load=_load_task,
  )


def load_system(name: str) -> system_lib.System:
  """Returns the system of that name.

  Args:
    name: One of the registry, or 'package.module:NAME'.

  Raises:
    settings.SettingError: If there is none.
  """
  if name in systems.SYSTEMS:
    return systems.SYSTEMS[name]
  with settings.blame('system', name):
    if ':' in name:
      return references.load(name, system_lib.System)
    raise ValueError(
      f'must be one of {", ".join(systems.SYSTEMS)}, or package.module:NAME'
    )


def create(
  system_name: str, changes: Mapping[str, Any]
) -> experiment_settings.ExperimentSettings:
  """Creates the settings of an experiment, as `experiment_settings.create`."""
  return experiment_settings.create(
    system_name, load_system(system_name), ChosenTask(), changes
  )
