# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The command line: flagfiles come first, and errors are in plain words."""

from collections.abc import Sequence
import re

from absl import flags

# What absl and Python say of a value that a flag cannot have.
_PLAIN = {
  r'invalid literal for int\(\) with base 10: .*': 'must be a whole number',
  r'could not convert string to float: .*': 'must be a number',
  r"\('Non-boolean argument to boolean flag', .*\)": 'must be true or false',
}


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


def explain(error: flags.Error) -> str:
  """Returns a line that says what is wrong with a flag."""
  line = str(error)
  for pattern, plain in _PLAIN.items():
    line = re.sub(f'(?s): {pattern}$', f': {plain}', line)
  return line
