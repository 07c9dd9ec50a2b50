# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Flags of the settings that a program has, derived from their parts."""

from collections.abc import Callable, Collection, Mapping, Sequence
import contextlib
from typing import Any, TypeVar

from absl import flags

from tff_semifl import settings

_Part = TypeVar('_Part', bound=settings.Settings)

_DEFINE = {
  bool: flags.DEFINE_bool,
  float: flags.DEFINE_float,
  int: flags.DEFINE_integer,
  str: flags.DEFINE_string,
  tuple: flags.DEFINE_list,
}


def files_first(arguments: Sequence[str]) -> list[str]:
  """Returns arguments with what flagfiles hold in front of all others.

  What comes last counts, so flags that are given win over those of flagfiles,
  wherever these stand.

  Raises:
    flags.Error: If a flagfile cannot be read.
  """
  files, others = [], []
  rest = iter(arguments)
  for argument in rest:
    if argument in ('--flagfile', '-flagfile'):
      files.append(f'--flagfile={next(rest, "")}')
    elif argument.startswith(('--flagfile=', '-flagfile=')):
      files.append(argument)
    elif argument == '--':
      others.extend([argument, *rest])
    else:
      others.append(argument)
  read = flags.FlagValues().read_flags_from_files
  return [*read(files, force_gnu=False), *others]


def choose(
  create: Callable[[Mapping[str, Any]], _Part], arguments: Sequence[str]
) -> _Part:
  """Returns the parts that a command line chooses, with their defaults.

  Args:
    create: Creates the parts with changes of settings, by name.
    arguments: The command line, without the program and without flagfiles.

  Raises:
    settings.SettingError: If something else is chosen than there is.
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
    # One at a time: it may do away with those that come after it.
    chosen[given[0]] = values[given[0]].value


def define(
  part: settings.Settings, flag_values: flags.FlagValues = flags.FLAGS
) -> None:
  """Defines a flag for each setting of a tree."""
  for each in settings.describe(part):
    meaning = describe(each)
    if each.values.names and each.kind is str:
      flags.DEFINE_enum(
        each.name,
        each.value,
        each.values.names,
        meaning,
        flag_values=flag_values,
      )
    else:
      default = list(each.value) if each.kind is tuple else each.value
      _DEFINE[each.kind](each.name, default, meaning, flag_values=flag_values)


def read(
  part: settings.Settings, flag_values: flags.FlagValues = flags.FLAGS
) -> dict[str, Any]:
  """Returns the settings of a tree whose flags were given, by name."""
  return {
    name: flag_values[name].value
    for name in settings.as_dict(part)
    if flag_values[name].present
  }


def explain_unknown(
  error: flags.UnrecognizedFlagError,
  part: settings.Settings,
  create: Callable[[Mapping[str, Any]], settings.Settings],
  how: str,
  elsewhere: Collection[str],
) -> str:
  """Returns a line about a flag that there is not.

  Args:
    error: The error.
    part: The parts, of whose settings it is none.
    create: Creates the parts with changes of settings, by name.
    how: The command.
    elsewhere: Names of settings that are there for something else than `how`.
  """
  chosen = {
    each.name: each.value for each in settings.describe(part) if each.is_choice
  }
  for name in (error.flagname, error.flagname.removeprefix('no')):
    owners = settings.find_owners(part, name)
    if owners:
      only = f'it is only for --{" or --".join(owners)}'
      return f'flag --{name}: {only}; leave it out'
    for choice, value in chosen.items():
      others = {k: v for k, v in chosen.items() if k != choice}
      # Some of the others may be there for this choice alone.
      with contextlib.suppress(settings.SettingError):
        if name in settings.all_names(create(others)):
          return (
            f'flag --{name}: --{choice}={value} has no use for it; leave it out'
          )
    if name in elsewhere:
      return f'flag --{name}: {how} has no use for it; leave it out'
  return str(error)


def describe(setting: settings.Description) -> str:
  """Returns the help text of a setting."""
  if setting.values.names or setting.values is settings.ANY:
    return setting.meaning
  return f'{setting.meaning} Must be {setting.values.description}.'


def format_help(groups: Mapping[str, Sequence[settings.Settings]]) -> str:
  """Returns help on all settings, in groups.

  Args:
    groups: For the heading of each group its parts.
  """
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
