# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Programs whose flags are settings."""

from collections.abc import Callable, Collection, Mapping, Sequence
import contextlib
import sys
from typing import Any, TypeVar

from absl import flags

from tff_semifl import settings
from tff_semifl.cli import command_text
from tff_semifl.cli import program

_Part = TypeVar('_Part', bound=settings.Settings)

_DEFINE = {
  bool: flags.DEFINE_bool,
  float: flags.DEFINE_float,
  int: flags.DEFINE_integer,
  str: flags.DEFINE_string,
  tuple: flags.DEFINE_list,
}

# Packages whose modules define flags of programs.
_OWN = ('launch.', 'tff_semifl.launch.', 'tff_semifl.cli.')

# Help on flags of all programs that absl defines.
COMMON = {
  'flagfile': 'File to read flags from, one on each line. Flags on the command'
  ' line take precedence, in any order.',
  'verbosity': '-1 shows only warnings and errors, -2 only errors.',
  'version': 'Print the version and exit.',
}


def run(
  how: str,
  create: Callable[[Mapping[str, Any]], _Part],
  main: Callable[[_Part], None],
  *,
  arguments: Sequence[str] | None = None,
  groups: Callable[[_Part], Mapping[str, Sequence[settings.Settings]]]
  | None = None,
  common: Mapping[str, str] = COMMON,
  elsewhere: Callable[[], Collection[str]] = frozenset,
  interrupted: str = program.INTERRUPTED,
) -> None:
  """Parses flags, runs `main` with the settings and ends the process.

  `common` is help on flags that the program does not define, and `groups` gives
  the headings of the help; for other arguments, see `parse` and `program.run`.
  """
  how = command_text.spell_commands(how)
  # Listed before the flags of settings are defined.
  own = [
    flag
    for module, defined in flags.FLAGS.flags_by_module_dict().items()
    for flag in defined
    if module.startswith(_OWN) or module == sys.argv[0]
  ]

  def parse_or_help(argv: Sequence[str]) -> Sequence[_Part]:
    if command_text.HELP.intersection(argv):
      part = choose(create, argv[1:])
      print(command_text.describe_program())
      print(f'usage: {how} [--flag=value ...]')
      print(
        format_help({'settings': [part]} if groups is None else groups(part))
      )
      print('\nprogram:')
      for name, text in [*((f.name, f.help) for f in own), *common.items()]:
        print(f'  --{name}:')
        print(flags.text_wrap(text, flags.get_help_width(), '      '))
      sys.exit(0)
    return [parse(create, argv[1:], how, elsewhere)]

  program.run(
    main, arguments=arguments, parse=parse_or_help, interrupted=interrupted
  )


def parse(
  create: Callable[[Mapping[str, Any]], _Part],
  arguments: Sequence[str],
  how: str,
  elsewhere: Callable[[], Collection[str]],
  flag_values: flags.FlagValues = flags.FLAGS,
) -> _Part:
  """Parses the settings of a command line.

  `create` makes the settings from changes by name. `elsewhere` returns the
  names of other commands' settings, to explain an unknown flag. Flags are
  defined in `flag_values`.
  """
  part = choose(create, arguments)
  define(part, flag_values)
  try:
    _, *rest = flag_values([how, *arguments])
  except flags.UnrecognizedFlagError as error:
    raise flags.Error(
      _explain_unknown(error, part, create, how, elsewhere)
    ) from error
  if rest:
    raise flags.Error(
      f'unexpected argument {rest[0]!r}; flags are --name=value'
    )
  return create(read(part, flag_values))


def choose(
  create: Callable[[Mapping[str, Any]], _Part], arguments: Sequence[str]
) -> _Part:
  """The settings that a command line's choices select, with default values.

  A choice, such as --task, determines which further settings exist.
  """
  chosen = {}
  while True:
    part = create(chosen)
    values = flags.FlagValues()
    names = [each.name for each in settings.describe(part) if each.is_choice]
    for name in names:
      flags.DEFINE_string(name, None, '', flag_values=values)
    values(['', *arguments], known_only=True)
    given = [n for n in names if values[n].present and n not in chosen]
    if not given:
      return part
    # One at a time: a choice may remove the choices after it.
    chosen[given[0]] = values[given[0]].value


def define(
  part: settings.Settings, flag_values: flags.FlagValues = flags.FLAGS
) -> None:
  """Defines a flag for each setting of a tree."""
  for each in settings.describe(part):
    meaning = describe(each)
    default = list(each.value) if each.kind is tuple else each.value
    _DEFINE[each.kind](each.name, default, meaning, flag_values=flag_values)


def read(
  part: settings.Settings, flag_values: flags.FlagValues = flags.FLAGS
) -> dict[str, Any]:
  """The values of settings whose flags were given, by name."""
  return {
    name: flag_values[name].value
    for name in settings.as_dict(part)
    if flag_values[name].present
  }


def _explain_unknown(
  error: flags.UnrecognizedFlagError,
  part: settings.Settings,
  create: Callable[[Mapping[str, Any]], settings.Settings],
  how: str,
  elsewhere: Callable[[], Collection[str]],
) -> str:
  """One line on why a program does not have a flag."""
  chosen = {
    each.name: each.value for each in settings.describe(part) if each.is_choice
  }
  for name in (error.flagname, error.flagname.removeprefix('no')):
    if name in settings.as_dict(part):
      return f'flag --{error.flagname}: write --{name}=VALUE'
    owners = settings.find_owners(part, name)
    if owners:
      only = f'it is only for --{" or --".join(owners)}'
      return f'flag --{name}: {only}; leave it out'
    for choice, value in chosen.items():
      others = {k: v for k, v in chosen.items() if k != choice}
      # Some of the other choices may exist only with this value.
      with contextlib.suppress(settings.SettingError):
        if name in settings.all_names(create(others)):
          return (
            f'flag --{name}: --{choice}={value} has no use for it; leave it out'
          )
    if name in elsewhere():
      return f'flag --{name}: {how} has no use for it; leave it out'
  return command_text.explain(error)


def describe(setting: settings.Description) -> str:
  """The help text of a setting."""
  if setting.values.names or setting.values is settings.ANY:
    return setting.meaning
  return f'{setting.meaning} Must be {setting.values.description}.'


def format_help(groups: Mapping[str, Sequence[settings.Settings]]) -> str:
  """The help text of all settings, under the headings of `groups`."""
  width = flags.get_help_width()
  lines = []
  for heading, parts in groups.items():
    lines.extend(['', f'{heading}:'])
    for part in parts:
      for each in settings.describe(part):
        shown = '' if each.value is None else f' {settings.show(each.value)}'
        options = (
          f' ({", ".join(each.values.names)})' if each.values.names else ''
        )
        lines.append(
          flags.text_wrap(
            f'--{each.name}:{shown}{options}', width, '      ', '  '
          )
        )
        lines.append(flags.text_wrap(describe(each), width, '      '))
  return '\n'.join(lines)
