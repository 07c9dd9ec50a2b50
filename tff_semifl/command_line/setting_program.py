# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The frame of programs that take settings as flags."""

from collections.abc import Callable, Collection, Mapping, Sequence
import sys
from typing import Any, TypeVar

from absl import flags

from tff_semifl import settings
from tff_semifl.command_line import command_text
from tff_semifl.command_line import program
from tff_semifl.command_line import setting_flags

# The packages whose modules define flags of programs.
_OWN = ('launch.', 'tff_semifl.launch.', 'tff_semifl.command_line.')

_Part = TypeVar('_Part', bound=settings.Settings)

# Help on the flags of all programs that absl defines.
COMMON = {
  'flagfile': 'File to read flags from, one on each line. Flags on the command'
  ' line take precedence, in any order.',
  'verbosity': '-1 shows only warnings and errors, -2 only errors.',
  'version': 'Print the version and exit.',
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
  common: Mapping[str, str] = COMMON,
  elsewhere: Callable[[], Collection[str]] = frozenset,
  interrupted: str = program.INTERRUPTED,
) -> None:
  """Parses flags, runs `main` with the settings and ends the process.

  Args:
    common: Help on flags that are not defined by the program.
  """
  how = command_text.spell_commands(how)
  own = _own_flags()
  parsed = []

  def parse(argv: Sequence[str]) -> Sequence[str]:
    if command_text.HELP.intersection(argv):
      part = setting_flags.choose(create, argv[1:])
      print(command_text.spell_commands(description))
      print(f'usage: {how} [--flag=value ...]')
      of_parts = {'settings': [part]} if groups is None else groups(part)
      print(setting_flags.format_help(of_parts))
      print(_format_own(own, common))
      sys.exit(0)
    parsed.append(setting_flags.parse(create, argv[1:], how, elsewhere))
    return argv[:1]

  program.run(
    lambda: main(*parsed),
    arguments=arguments,
    parse=parse,
    interrupted=interrupted,
  )


def _own_flags() -> list[flags.Flag]:
  """The flags that the program and its modules define themselves."""
  return [
    flag
    for module, defined in flags.FLAGS.flags_by_module_dict().items()
    for flag in defined
    if module.startswith(_OWN) or module == sys.argv[0]
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
