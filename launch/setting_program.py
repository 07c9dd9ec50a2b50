# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Programs that take the settings of parts as flags."""

from collections.abc import Callable, Mapping, Sequence
import sys
from typing import Any, NoReturn, TypeVar

from absl import flags

from launch import commands
from launch import known
from launch import presets
from launch import program
from launch import setting_flags
from tff_semifl import settings
from tff_semifl.systems import registry

_Part = TypeVar('_Part', bound=settings.Settings)

_HELP = frozenset(
  ('-h', '-help', '--help', '-helpshort', '--helpshort', '-helpfull')
  + ('--helpfull', '-?')
)
_COMMON = {
  'flagfile': 'Reads flags from a file, one a line. Flags that are given count'
  ' for more, wherever they stand.',
  'verbosity': '-1 shows warnings and errors alone, -2 errors.',
}


def run(
  how: str,
  description: str,
  create: Callable[[Mapping[str, Any]], _Part],
  main: Callable[[_Part], None],
  *,
  arguments: Sequence[str] | None = None,
  groups: Callable[[_Part], Mapping[str, Sequence[settings.Settings]]]
  | None = None,
  common: Mapping[str, str] = _COMMON,
) -> None:
  """Parses flags, runs `main` with the settings and ends the process.

  Args:
    how: The command, for help.
    description: What it does, for help.
    create: Creates the parts with changes of settings, by name.
    main: The program.
    arguments: The command line after the program. By default that of the
      process, with what flagfiles hold in front.
    groups: Returns for each heading in the help the parts under it.
    common: Help on flags that are not defined by the program.
  """
  own = _own_flags()
  try:
    if arguments is None:
      arguments = setting_flags.files_first(sys.argv[1:])
    part = setting_flags.choose(create, arguments)
  except Exception as error:
    program.end_with_error(error)
  setting_flags.define(part)

  def parse(argv: Sequence[str]) -> Sequence[str]:
    if _HELP.intersection(argv):
      print(f'{description}\nusage: {how} [--flag=value ...]')
      of_parts = {'settings': [part]} if groups is None else groups(part)
      print(setting_flags.format_help(of_parts))
      print(_format_own(own, common))
      sys.exit(0)
    try:
      return flags.FLAGS(argv)
    except flags.UnrecognizedFlagError as error:
      print(_explain_unknown(error, part, how), file=sys.stderr)
    except flags.Error as error:
      print(error, file=sys.stderr)
    sys.exit(1)

  program.run(
    lambda: main(create(setting_flags.read(part))),
    arguments=[how, *arguments],
    parse=parse,
  )


def run_for_system(
  name: str,
  description: str,
  main: Callable[[commands.Command], None],
  *,
  system_name: str | None = None,
) -> None:
  """Reads a system and its flags, runs `main` and ends the process.

  Args:
    name: The program is `launch.<name>`.
    description: What it does, for help.
    main: The program.
    system_name: The system, if it is not the first argument.
  """
  how = f'python -m launch.{name}'
  arguments = sys.argv[1:]
  if system_name is None:
    if not arguments or arguments[0] in _HELP:
      _say_systems(f'{how} SYSTEM', description, is_asked=bool(arguments))
    system_name, *arguments = arguments
    if system_name.startswith('-'):
      program.end_with_error(
        program.FlagError(
          f'what to train comes before flags: {how} SYSTEM {system_name} ...,'
          f' where SYSTEM is one of {", ".join(registry.SYSTEMS)}'
        )
      )
    how = f'{how} {system_name}'
  try:
    known.load_system(system_name)
    arguments = presets.expand(
      system_name, setting_flags.files_first(arguments)
    )
  except Exception as error:
    program.end_with_error(error)
  run(
    how,
    description,
    lambda changes: commands.create(system_name, changes),
    main,
    arguments=arguments,
    groups=commands.Command.groups,
    common={'preset': presets.HELP, **_COMMON},
  )


def _own_flags() -> list[flags.Flag]:
  """Returns the flags that the program and its modules define themselves."""
  return [
    flag
    for module, defined in flags.FLAGS.flags_by_module_dict().items()
    for flag in defined
    if module.startswith('launch.') or module == sys.argv[0]
  ]


def _format_own(own: Sequence[flags.Flag], common: Mapping[str, str]) -> str:
  width = flags.get_help_width()
  lines = ['\nprogram:']
  for name, text in [
    *((flag.name, flag.help) for flag in own),
    *common.items(),
  ]:
    lines.append(f'  --{name}:')
    lines.append(flags.text_wrap(text, width, '      '))
  return '\n'.join(lines)


def _say_systems(how: str, description: str, *, is_asked: bool) -> NoReturn:
  """Says which systems there are, and ends the process."""
  lines = [description, f'usage: {how} [--flag=value ...]', '', 'systems:']
  for name, system in registry.SYSTEMS.items():
    (summary, *_) = type(system).__doc__.splitlines()
    lines.append(f'  {name}: {summary}')
  print('\n'.join(lines), file=sys.stdout if is_asked else sys.stderr)
  sys.exit(0 if is_asked else 1)


def _explain_unknown(
  error: flags.UnrecognizedFlagError, part: settings.Settings, how: str
) -> str:
  """Returns a line about a flag that there is not."""
  name = error.flagname
  for start in ('', 'no'):
    stripped = name.removeprefix(start)
    owners = settings.find_owners(part, stripped)
    if owners:
      return (
        f'flag --{stripped}: it is only for --{" or --".join(owners)}; leave it'
        ' out'
      )
    if any(
      stripped in settings.all_names(system)
      for system in registry.SYSTEMS.values()
    ):
      return f'flag --{stripped}: {how} has no use for it; leave it out'
  return str(error)
