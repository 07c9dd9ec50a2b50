# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command lines as texts: how commands are spelled, flagfiles and presets.

Nothing here needs TensorFlow, which takes seconds to import.
"""

from collections.abc import Sequence
import re
import sys

from absl import flags

import tff_semifl
from tff_semifl import installation
from tff_semifl import settings
from tff_semifl.experiments import presets

# Arguments that ask for help.
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

# What absl and Python say of a value that a flag cannot have.
_PLAIN = {
  r'invalid literal for int\(\) with base 10: .*': 'must be a whole number',
  r'could not convert string to float: .*': 'must be a number',
  r"\('Non-boolean argument to boolean flag', .*\)": 'must be true or false',
}


def spell_commands(text: str) -> str:
  """Returns a text with the commands that start programs as users type them.

  Args:
    text: A text with commands of a clone, `python -m launch.train` say. An
      installed package has `tff-semifl train` instead.
  """
  if installation.is_installed():
    return text.replace('python -m launch.', 'tff-semifl ')
  return text


def read() -> list[str]:
  """The command line of this process, without the program.

  If it asks for the version of this package, prints that and ends the process.
  """
  if '--version' in sys.argv[1:]:
    print(f'tff-semifl {tff_semifl.__version__}')
    sys.exit(0)
  return sys.argv[1:]


def files_first(arguments: Sequence[str]) -> list[str]:
  """Returns arguments with the content of flagfiles in front of all others.

  The last value of a flag counts, so that flags on the command line take
  precedence over those of flagfiles, in any order.

  Args:
    arguments: The command line without the program.

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
  """Returns the flags of a flagfile, and of those that it names."""
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
  """Returns arguments with what presets and flagfiles have in front of them.

  The last value of a flag counts, so that flagfiles take precedence over the
  preset, and flags on the command line over both. Of several presets the last
  one counts.

  Args:
    system_name: Name of the system that is trained.
    arguments: The command line, without the program.

  Returns:
    The flags of the preset, those of flagfiles and then all others, without
    --preset and --flagfile.

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
      f'is of {preset.system_name}; train that, or choose one of {system_name}',
    )
  chosen = {'output_dir': preset.output_dir, **preset.settings}
  return [
    *(f'--{key}={settings.show(value)}' for key, value in chosen.items()),
    *others,
  ]


def explain(error: flags.Error) -> str:
  """Returns a line that says what is wrong with a flag."""
  line = str(error)
  for pattern, plain in _PLAIN.items():
    line = re.sub(f'(?s): {pattern}$', f': {plain}', line)
  return line
