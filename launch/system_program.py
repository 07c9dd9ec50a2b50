# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The frame of programs that train a system, with all settings as flags."""

from collections.abc import Callable, Mapping
import functools
import sys
from typing import Any, NoReturn

from absl import flags

from tff_semifl import settings
from tff_semifl.experiments import command as command_lib
from tff_semifl.launch import command_line
from tff_semifl.launch import commands
from tff_semifl.launch import program
from tff_semifl.launch import setting_program
from tff_semifl.systems import registry


def run(
  name: str,
  description: str,
  main: Callable[[command_lib.Command], None],
  *,
  system_name: str | None = None,
  create: Callable[
    [str, Mapping[str, Any]], command_lib.Command
  ] = commands.create,
) -> None:
  """Reads a system and its flags, runs `main` and ends the process.

  Args:
    name: Name of the program's module in `launch`.
    description: Description of the program, for its help text.
    main: The program.
    system_name: Name of the system; by default it is the first argument.
    create: Creates the command of a system from settings by name.
  """
  how = command_line.spell_commands(f'python -m launch.{name}')
  arguments = sys.argv[1:]
  command_line.answer_version(arguments)
  try:
    if system_name is None:
      if not arguments or arguments[0] in command_line.HELP:
        _say_systems(f'{how} SYSTEM', description, is_asked=bool(arguments))
      system_name, *arguments = arguments
      if system_name.startswith('-'):
        raise program.FlagError(
          f'what to train comes before flags: {how} SYSTEM {system_name} ...,'
          f' where SYSTEM is one of {", ".join(registry.SYSTEMS)}'
        )
      how = f'{how} {system_name}'
      try:
        registry.load(system_name)
      except settings.SettingError as error:
        # The system is no flag.
        raise program.FlagError(str(error)) from error
    arguments = command_line.expand_preset(
      system_name, command_line.files_first(arguments)
    )
  except Exception as error:
    program.end_with_error(error)
  setting_program.run(
    how,
    description,
    functools.partial(create, system_name),
    main,
    arguments=arguments,
    groups=command_lib.Command.groups,
    common={'preset': command_line.PRESET_HELP, **setting_program.COMMON},
    elsewhere=commands.names_of_all_settings,
    interrupted=program.RESUMES,
  )


def _say_systems(how: str, description: str, *, is_asked: bool) -> NoReturn:
  """Prints the systems, and ends the process."""
  lines = [
    command_line.spell_commands(description),
    f'usage: {how} [--flag=value ...]',
    '',
    'systems:',
  ]
  for name, system in registry.SYSTEMS.items():
    lines.append(f'  {name}')
    lines.append(
      flags.text_wrap(system.summary, flags.get_help_width(), '      ')
    )
  print('\n'.join(lines), file=sys.stdout if is_asked else sys.stderr)
  sys.exit(0 if is_asked else 1)
