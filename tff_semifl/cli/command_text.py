# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command lines as text: spelling of commands, flagfiles and presets.

This module does not import TensorFlow, which takes seconds.
"""

import collections
from collections.abc import Iterator, Sequence
import itertools
import os
import re
import sys

from absl import flags

import tff_semifl
from tff_semifl import installation
from tff_semifl import settings
from tff_semifl.experiment import presets

HELP = frozenset(
  f'{dashes}{word}'
  for word in ('help', 'helpshort', 'helpfull')
  for dashes in ('-', '--')
) | {'-h', '-?'}
PRESET_HELP = (
  "Settings of a cell of a paper's table or figure, such as"
  ' semifl/cifar10_4000_iid; tff_semifl/experiment/presets.csv lists all'
  ' presets. Other flags and flagfiles take precedence over it.'
)

# Messages of absl and Python on invalid flag values, and plain replacements.
_PLAIN = {
  r'invalid literal for int\(\) with base 10: .*': 'must be a whole number',
  r'could not convert string to float: .*': 'must be a number',
  r"\('Non-boolean argument to boolean flag', .*\)": 'must be true or false',
}


def spell_commands(text: str) -> str:
  """Spells commands in a text as users of this installation type them."""
  if installation.is_installed():
    return text.replace('python -m launch.', 'tff-semifl ')
  return text


def describe_program() -> str:
  """The help text of the running program: its module's docstring."""
  return spell_commands(sys.modules['__main__'].__doc__ or '')


def read() -> list[str]:
  """The command line of this process, without the program.

  With --version, prints the version and ends the process.
  """
  if '--version' in sys.argv[1:]:
    print(f'tff-semifl {tff_semifl.__version__}')
    sys.exit(0)
  return sys.argv[1:]


def files_first(arguments: Sequence[str]) -> list[str]:
  """Replaces flagfiles by their contents, in front of all other arguments.

  The last value of a flag counts, so that flags on the command line take
  precedence in any order.
  """
  read, others = [], []
  rest = iter(arguments)
  for argument in rest:
    if argument in ('--flagfile', '-flagfile'):
      read.extend(_read_file(next(rest, '')))
    elif argument.startswith(('--flagfile=', '-flagfile=')):
      read.extend(_read_file(argument.partition('=')[2]))
    elif argument == '--':
      others.extend([argument, *rest])
    else:
      others.append(argument)
  return [*read, *others]


def find_repeated(arguments: Sequence[str]) -> Iterator[str]:
  """Yields a message for each flag that has several values."""
  given = collections.defaultdict(list)
  for argument in itertools.takewhile(lambda each: each != '--', arguments):
    if found := re.match(r'--?([a-z]\w*)', argument):
      given[found[1]].append(argument)
  # Several flagfiles are allowed: all are read.
  given.pop('flagfile', None)
  for name, values in given.items():
    # Equal arguments have equal values only if written as '--name=value'.
    if len(values) > len({*values}) == 1 and '=' in values[0]:
      continue
    if len(values) > 1:
      yield f'--{name} is given {len(values)} times'


def _read_file(path: str) -> list[str]:
  """Reads the flags of a flagfile and of nested flagfiles."""
  if not path:
    raise flags.Error('flag --flagfile=: name a file')
  try:
    return list(_read_lines(path))
  except OSError as error:
    problem = f'cannot read {error.filename}: {error.strerror}'
  except UnicodeDecodeError:
    problem = 'is no text'
  except RecursionError:
    problem = 'names itself'
  raise flags.Error(f'flag --flagfile={path}: {problem}')


def _read_lines(path: str) -> Iterator[str]:
  """Yields flags as absl does, but skips a byte-order mark."""
  with open(os.path.expanduser(path), encoding='utf-8-sig') as file:
    lines = [line.strip() for line in file]
  for problem in find_repeated(lines):
    raise flags.Error(f'in {path}, {problem}; keep one')
  for line in lines:
    if found := re.fullmatch('--?flagfile=(.+)', line):
      yield from _read_lines(found[1].strip())
    elif line and not line.startswith(('#', '//')):
      yield line


def expand(system_name: str, arguments: Sequence[str]) -> list[str]:
  """Replaces presets and flagfiles by their contents.

  The last value of a flag counts, so that flagfiles take precedence over the
  preset, and flags on the command line over both. Only the last preset counts.
  """
  values = flags.FlagValues()
  flags.DEFINE_string('preset', None, '', flag_values=values)
  _, *others = values(['', *files_first(arguments)], known_only=True)
  name = values['preset'].value
  if name is None:
    return others
  preset = presets.load(name)
  if preset.system_name != system_name:
    raise settings.SettingError(
      'preset',
      name,
      f'is a preset of {preset.system_name}, not of {system_name}',
    )
  chosen = {'output_dir': preset.output_dir, **preset.settings}
  return [
    *(f'--{key}={settings.show(value)}' for key, value in chosen.items()),
    *others,
  ]


def explain(error: flags.Error) -> str:
  """One line that explains a flag's error."""
  line = str(error)
  for pattern, plain in _PLAIN.items():
    line = re.sub(f'(?s): {pattern}$', f': {plain}', line)
  return line
