# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Commands of command lines: systems and tasks are chosen by name."""

from collections.abc import Mapping, Sequence
import functools
from typing import Any

from absl import flags

from tff_semifl import settings
from tff_semifl.experiments import command as command_lib
from tff_semifl.experiments import experiment_settings
from tff_semifl.launch import command_line
from tff_semifl.launch import setting_flags
from tff_semifl.systems import registry
from tff_semifl.tasks import registry as tasks


def create(system_name: str, changes: Mapping[str, Any]) -> command_lib.Command:
  """Creates a command.

  Args:
    system_name: Name of the system.
    changes: Values of settings by name.

  Raises:
    settings.SettingError: If there is no such system or setting, or a setting
      does not take its value.
  """
  return command_lib.create(system_name, tasks.ChosenTask(), changes)


def create_data(changes: Mapping[str, Any]) -> experiment_settings.Data:
  """Creates the settings of the data that SemiFL trains on.

  Args:
    changes: Values of settings by name.

  Raises:
    settings.SettingError: If there is no such setting, or it does not take its
      value.
  """
  return experiment_settings.create(
    'semifl', registry.load('semifl'), tasks.ChosenTask(), changes
  ).data


def names_of_all_settings() -> frozenset[str]:
  """Returns the names of all settings of all systems of the registry."""
  return frozenset().union(
    *(settings.all_names(create(name, {})) for name in registry.SYSTEMS)
  )


def parse(system_name: str, arguments: Sequence[str]) -> command_lib.Command:
  """Returns the command of a command line, without changing global flags.

  Args:
    system_name: Name of the system.
    arguments: Flags, with those of flagfiles and presets in front.

  Raises:
    settings.SettingError: If a setting does not take its value.
    flags.Error: If an argument is not a flag, or not a flag of the system.
  """
  return setting_flags.parse(
    functools.partial(create, system_name),
    arguments,
    command_line.spell_commands(f'python -m launch.train {system_name}'),
    names_of_all_settings,
    flags.FlagValues(),
  )
