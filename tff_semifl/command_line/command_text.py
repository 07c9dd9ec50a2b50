# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command lines as text: spelling of commands, flagfiles and presets.

It does not import TensorFlow, which takes seconds.
"""

from collections.abc import Sequence
import re
import sys

from absl import flags

import tff_semifl
from tff_semifl import installation
from tff_semifl import settings
from tff_semifl.experiments import presets

HELP = frozenset(
  f'{dashes}{word}'
  for word in ('help', 'helpshort', 'helpfull')
  for dashes in ('-', '--')
) | {'-h', '-?'}
PRESET_HELP = (
  "Settings of a cell of a paper's table or figure, such as"
  ' semifl/cifar10_4000_iid; tff_semifl/experiments/presets.csv lists all'
  ' presets. Other flags and flagfiles take precedence over it.'
)

# Messages of absl and Python on invalid values of flags.
_PLAIN = {
  r'invalid literal for int\(\) with base 10: .*': 'must be a whole number',
  r'could not convert string to float: .*': 'must be a number',
  r"\('Non-boolean argument to boolean flag', .*\)": 'must be true or false',
}


def spell_commands(text: str) -> str:
  """Spells commands in a text as users of this installation type them.

  Args:
    text: A text with commands of a clone, such as `python -m launch.train`,
      which is `tff-semifl train` in an installed package.
  """
  if installation.is_installed():
    return text.replace('python -m launch.', 'tff-semifl ')
  return text


def read() -> list[str]:
  """The command line of this process, without the program.

  If it asks for the version, prints the version and ends the process.
  """
  if '--version' in sys.argv[1:]:
    print(f'tff-semifl {tff_semifl.__version__}')
    sys.exit(0)
  return sys.argv[1:]


def files_first(arguments: Sequence[str]) -> list[str]:
  """Replaces flagfiles by their contents, in front of all other arguments.

  The last value of a flag counts, so that flags on the command line take
  precedence in any order.

  Raises:
    flags.Error: If a flagfile cannot be read.
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


def _read_file(path: str) -> list[str]:
  """The flags of a flagfile and of the flagfiles that it names."""
  if not path:
    raise flags.Error('flag --flagfile=: name a file')
  try:
    return flags.FlagValues().read_flags_from_files(
      [f'--flagfile={path}'], force_gnu=False
    )
  except flags.CantOpenFlagFileError as error:
    cause = error.__context__
    problem = f'cannot read {cause.filename}: {cause.strerror}'
  except UnicodeDecodeError:
    problem = 'is no text'
  raise flags.Error(f'flag --flagfile={path}: {problem}')


def expand(system_name: str, arguments: Sequence[str]) -> list[str]:
  """Replaces presets and flagfiles by their contents.

  The last value of a flag counts, so that flagfiles take precedence over the
  preset, and flags on the command line over both. Only the last preset counts.

  Raises:
    flags.Error: If --preset has no value, or a flagfile cannot be read.
    settings.SettingError: If there is no such preset, or if it is for another
      system.
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
  """One line on what is wrong with a flag."""
  line = str(error)
  for pattern, plain in _PLAIN.items():
    line = re.sub(f'(?s): {pattern}$', f': {plain}', line)
  return line
