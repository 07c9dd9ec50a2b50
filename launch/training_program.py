# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Programs that take the settings of one system as flags."""

from collections.abc import Callable, Sequence
import sys
from typing import NoReturn

from absl import flags

from launch import commands
from launch import known
from launch import presets
from launch import program
from launch import setting_flags
from tff_semifl import settings
from tff_semifl.algorithms import registry

_HELP = ('--help', '-help', '--helpshort', '-helpshort', '--helpfull', '-?')


def run(
  name: str,
  description: str,
  main: Callable[[commands.Command], None],
  *,
  system_name: str | None = None,
) -> None:
  """Reads the system and its flags, runs `main` and ends the process.

  Args:
    name: The program is `launch.<name>`.
    description: What it does, for help.
    main: The program.
    system_name: The system, if it is not the first argument.
  """
  arguments = sys.argv[1:]
  how = f'python -m launch.{name}'
  if system_name is None:
    how = f'{how} SYSTEM'
    if not arguments or arguments[0] in _HELP:
      _say_systems(how, description, is_asked=bool(arguments))
    system_name, *arguments = arguments
    how = how.replace('SYSTEM', system_name)
  try:
    if system_name.startswith('-'):
      raise program.FlagError(
        f'what to train comes first: {how.replace(system_name, "SYSTEM")};'
        f' SYSTEM is one of {", ".join(registry.SYSTEMS)}'
      )
    known.load_system(system_name)
    arguments = presets.expand(
      system_name, setting_flags.files_first(arguments)
    )
    command = setting_flags.choose(
      lambda changes: commands.create(system_name, changes), arguments
    )
  except Exception as error:
    program.end_with_error(error)
  own = _own_flags()
  setting_flags.define(command)

  def parse(argv: Sequence[str]) -> Sequence[str]:
    if set(_HELP) & set(argv):
      print(f'{description}\nusage: {how} [--flag=value ...]')
      print(setting_flags.format_help(command.groups()))
      _say_own(own)
      sys.exit(0)
    try:
      return flags.FLAGS(argv)
    except flags.UnrecognizedFlagError as error:
      print(_explain_unknown(error, command, system_name), file=sys.stderr)
    except flags.Error as error:
      print(error, file=sys.stderr)
    sys.exit(1)

  program.run(
    lambda: main(commands.read_flags(system_name, command)),
    arguments=[how, *arguments],
    parse=parse,
  )


def _own_flags() -> list[flags.Flag]:
  """Returns the flags of the program itself, before others are defined."""
  defined = flags.FLAGS.flags_by_module_dict()
  return [
    flag
    for module, of_module in defined.items()
    for flag in of_module
    if module.startswith(('launch.', '__main__')) or module == sys.argv[0]
  ]


def _say_own(own: Sequence[flags.Flag]) -> None:
  width = flags.get_help_width()
  print('\nprogram:')
  for flag in own:
    print(flags.text_wrap(f'--{flag.name}:', width, '      ', '  '))
    print(flags.text_wrap(flag.help, width, '      '))
  for name, text in (
    ('flagfile', 'Reads flags from a file, one a line; others win over it.'),
    ('preset', presets.HELP),
    ('verbosity', '-1 shows only warnings and errors, -2 only errors.'),
  ):
    print(flags.text_wrap(f'--{name}:', width, '      ', '  '))
    print(flags.text_wrap(text, width, '      '))


def _say_systems(how: str, description: str, *, is_asked: bool) -> NoReturn:
  """Says which systems there are, and ends the process."""
  lines = [description, f'usage: {how} [--flag=value ...]', '', 'systems:']
  for name, system in registry.SYSTEMS.items():
    (summary, *_) = type(system).__doc__.splitlines()
    lines.append(f'  {name}: {summary}')
  print('\n'.join(lines), file=sys.stdout if is_asked else sys.stderr)
  sys.exit(0 if is_asked else 1)


def _explain_unknown(
  error: flags.UnrecognizedFlagError,
  command: commands.Command,
  system_name: str,
) -> str:
  """Returns a line about a flag that the system has not."""
  name = error.flagname
  try:
    settings.change(command, {name: error.flagvalue})
  except settings.SettingError as of_setting:
    is_known = any(
      name in settings.all_names(system) for system in registry.SYSTEMS.values()
    )
    if is_known and 'only for' not in of_setting.problem:
      return f'flag --{name}: {system_name} has no use for it; leave it out'
    return f'flag --{name}: {of_setting.problem}'
  return str(error)
