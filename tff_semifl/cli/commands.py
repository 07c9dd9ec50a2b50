# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Commands that train: systems, tasks and all of their settings, by name."""

from collections.abc import Callable, Mapping, Sequence
import functools
import sys
from typing import Any, NoReturn

from absl import flags

from tff_semifl import settings
from tff_semifl.cli import command_text
from tff_semifl.cli import program
from tff_semifl.cli import setting_flags
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import system_registry

create = command_lib.create


def create_data(changes: Mapping[str, Any]) -> experiment_settings.Data:
  """Creates the data settings of SemiFL."""
  return create('semifl', changes).experiment.data


def names_of_all_settings() -> frozenset[str]:
  """The names of all settings of all registered systems."""
  return frozenset().union(
    *(settings.all_names(create(name, {})) for name in system_registry.SYSTEMS)
  )


def parse(system_name: str, arguments: Sequence[str]) -> command_lib.Command:
  """Parses a command line, without changing global flags."""
  return setting_flags.parse(
    functools.partial(create, system_name),
    command_text.expand(system_name, arguments),
    command_text.spell_commands(f'python -m launch.train {system_name}'),
    names_of_all_settings,
    flags.FlagValues(),
  )


def run(
  name: str,
  main: Callable[[command_lib.Command], None],
  *,
  system_name: str | None = None,
  create_command: Callable[
    [str, Mapping[str, Any]], command_lib.Command
  ] = create,
) -> None:
  """Reads a system and its flags, runs `main` and ends the process.

  The system is the first argument, unless `system_name` is given.
  """
  how = command_text.spell_commands(f'python -m launch.{name}')
  arguments = command_text.read()
  try:
    if system_name is None:
      if not arguments or arguments[0] in command_text.HELP:
        _say_systems(f'{how} SYSTEM', is_asked=bool(arguments))
      system_name, *arguments = arguments
      if system_name.startswith('-'):
        raise program.FlagError(
          f'what to train comes before flags: {how} SYSTEM {system_name} ...,'
          f' where SYSTEM is one of {", ".join(system_registry.SYSTEMS)}'
        )
      how = f'{how} {system_name}'
      try:
        system_registry.load(system_name)
      except settings.SettingError as error:
        # The system is not given by a flag.
        raise program.FlagError(str(error)) from error
    arguments = command_text.expand(system_name, arguments)
  except Exception as error:
    program.end_with_error(error)
  setting_flags.run(
    how,
    functools.partial(create_command, system_name),
    main,
    arguments=arguments,
    groups=command_lib.Command.groups,
    common={'preset': command_text.PRESET_HELP, **setting_flags.COMMON},
    elsewhere=names_of_all_settings,
    interrupted=program.RESUMES,
  )


def _say_systems(how: str, *, is_asked: bool) -> NoReturn:
  """Prints the systems, and ends the process."""
  lines = [
    command_text.describe_program(),
    f'usage: {how} [--flag=value ...]',
    '',
    'systems:',
  ]
  for name, system in system_registry.SYSTEMS.items():
    lines.append(f'  {name}')
    lines.append(
      flags.text_wrap(system.summary, flags.get_help_width(), '      ')
    )
  print('\n'.join(lines), file=sys.stdout if is_asked else sys.stderr)
  sys.exit(0 if is_asked else 1)
