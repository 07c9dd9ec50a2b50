# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems that a command line can name, and their experiments."""

from collections.abc import Mapping
from typing import Any

from launch import chosen_task
from tff_semifl import settings
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import references
from tff_semifl.systems import registry as systems
from tff_semifl.systems import system as system_lib


def load_system(name: str) -> system_lib.System:
  """Returns the system of that name.

  Args:
    name: One of the registry, or 'package.module:NAME'.

  Raises:
    settings.SettingError: If there is none.
  """
  with settings.blame('system', name):
    # What was written down by others may be anything.
    if isinstance(name, str):
      if name in systems.SYSTEMS:
        return systems.SYSTEMS[name]
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
    system_name, load_system(system_name), chosen_task.ChosenTask(), changes
  )
