# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command lines: settings read from flags and flagfiles.

This module does not import TensorFlow, which takes seconds.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
import csv
import os
import re
import sys
from typing import Any, NamedTuple

from tff_semifl import settings
from tff_semifl.cli import help_text
from tff_semifl.settings import references

HELP = frozenset(
  f'{dashes}{word}'
  for word in ('help', 'helpshort', 'helpfull')
  for dashes in ('-', '--')
) | {'-h', '-?'}
_WORDS = {
  **dict.fromkeys(('true', 't', '1'), True),
  **dict.fromkeys(('false', 'f', '0'), False),
}
_EXPECTED = {
  bool: 'true or false',
  float: 'a number',
  int: 'a whole number',
  tuple: 'a list, separated by commas',
}

Create = Callable[[Mapping[str, Any]], settings.Settings]


class UsageError(Exception):
  """A command line is invalid."""


class Parsed(NamedTuple):
  """A parsed command line.

  `part` has the chosen values of choices such as --task, and default values of
  other settings. `values` are all flags by name; `others` are not flags.
  """

  part: settings.Settings
  values: dict[str, Any]
  others: list[str]


def spell_commands(text: str) -> str:
  """Rewrites `python -m launch.X` as `tff-semifl X` if that is installed."""
  if references.is_installed():
    return re.sub(r'python -m (tff_semifl\.)?launch\.', 'tff-semifl ', text)
  return text


def describe_program() -> str:
  """The help text of the running program: its module's docstring."""
  return spell_commands(sys.modules['__main__'].__doc__ or '')


def name_program() -> str:
  """The command that starts the running program."""
  spec = sys.modules['__main__'].__spec__
  return spell_commands(f'python -m {spec.name}' if spec else sys.argv[0])


def read_flagfiles(arguments: Sequence[str]) -> list[str]:
  """Puts the contents of flagfiles before all other arguments.

  The last value of a flag counts: the command line overrides flagfiles.
  """
  read, others = [], []
  rest = iter(arguments)
  for argument in rest:
    found = re.fullmatch('--?flagfile(?:=(.*))?', argument)
    if found is None:
      others.append(argument)
    else:
      path = next(rest, '') if found[1] is None else found[1]
      with settings.blame('flagfile', path, ValueError, OSError):
        if not path:
          raise ValueError('name a file')
        read.extend(_read_flagfile(path, ()))
  return [*read, *others]


def _read_flagfile(path: str, outer: tuple[str, ...]) -> Iterator[str]:
  if path in outer:
    raise ValueError(f'{path} names itself')
  try:
    with open(os.path.expanduser(path), encoding='utf-8-sig') as file:
      lines = [line.strip() for line in file]
  except UnicodeDecodeError as error:
    raise ValueError(f'{path} is no text') from error
  for line in lines:
    if found := re.fullmatch('--?flagfile=(.+)', line):
      yield from _read_flagfile(found[1].strip(), (*outer, path))
    elif line and not line.startswith(('#', '//')):
      yield line


def read(
  arguments: Sequence[str], kinds: Mapping[str, type]
) -> tuple[dict[str, Any], list[str]]:
  """The values of flags, and all other arguments.

  `kinds` maps flags to types of values. The last value of a flag counts.
  """
  values, others = {}, []
  rest = iter(arguments)
  for argument in rest:
    found = re.fullmatch(r'--?(\w+)(?:=(.*))?', argument, re.DOTALL)
    name, text = found.groups() if found else ('', None)
    is_negated = text is None and kinds.get(name.removeprefix('no')) is bool
    if name not in kinds and name.startswith('no') and is_negated:
      name, text = name.removeprefix('no'), 'false'
    if name not in kinds:
      others.append(argument)
      continue
    if text is None:
      text = 'true' if kinds[name] is bool else next(rest, None)
    if text is None:
      raise UsageError(f'flag --{name}: write --{name}=VALUE')
    values[name] = _convert(name, text, kinds[name])
  return values, others


def _convert(name: str, text: str, kind: type) -> Any:
  try:
    if kind is bool:
      return _WORDS[text.lower()]
    if kind is tuple:
      # Values with a comma can be quoted.
      (row,) = csv.reader([text], strict=True) if text else [[]]
      return tuple(value.strip() for value in row)
    return kind(text)
  except (KeyError, ValueError, csv.Error) as error:
    raise settings.SettingError(
      name, text, f'must be {_EXPECTED[kind]}'
    ) from error


def choose(create: Create, arguments: Sequence[str]) -> Parsed:
  """Reads flags; choices such as --task determine which other flags exist.

  `create` creates the settings from a mapping of names to changed values.
  """
  chosen = {}
  while True:
    part = create(chosen)
    described = [*settings.describe(part)]
    values, others = read(
      arguments, {each.name: each.kind for each in described}
    )
    names = [
      each.name
      for each in described
      if each.is_choice and each.name in values.keys() - chosen.keys()
    ]
    if not names:
      return Parsed(part, values, others)
    # One choice at a time, because it may remove later choices.
    chosen[names[0]] = values[names[0]]


def parse(
  create: Create,
  arguments: Sequence[str],
  how: str,
  elsewhere: Callable[[], Collection[str]] = frozenset,
  takes: Callable[[str], bool] | None = None,
) -> tuple[Any, list[str]]:
  """The settings of a command line, and the arguments that `takes` accepts.

  `how` is the command in error messages. `elsewhere` returns the names of other
  commands' settings, to explain unknown flags.
  """
  part, values, others = choose(create, arguments)
  for argument in others:
    if takes is None or not takes(argument):
      raise UsageError(
        help_text.explain_unknown(argument, part, create, how, elsewhere)
      )
  return create(values), others
