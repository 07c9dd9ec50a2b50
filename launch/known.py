# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Lookup of the systems that a command line names, and their experiments."""

from collections.abc import Mapping
from typing import Any

from tff_semifl import settings
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import references
from tff_semifl.launch import chosen_task
from tff_semifl.systems import registry as systems
from tff_semifl.systems import system as system_lib


def load_system(name: str) -> system_lib.System:
  """Returns the system of a name.

  Args:
    name: A name of the registry, or 'package.module:NAME'.

  Raises:
    settings.SettingError: If there is no such system.
  """
  with settings.blame('system', name):
    # A recorded name may have been edited, and be of any type.
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
  """Creates the settings of an experiment on a task of the registry.

  Args:
    system_name: Name of the system.
    changes: Values of settings by name.

  Raises:
    settings.SettingError: If there is no such system or setting, or a setting
      does not take its value.
  """
  return experiment_settings.create(
    system_name, load_system(system_name), chosen_task.ChosenTask(), changes
  )
