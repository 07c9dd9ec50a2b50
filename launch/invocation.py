# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The commands that start programs; TensorFlow is not needed for that."""

from collections.abc import Sequence
import sys

import tff_semifl

# Arguments that ask for help.
HELP = frozenset(
  ('-h', '-help', '--help', '-helpshort', '--helpshort', '-helpfull')
  + ('--helpfull', '-?')
)


def spell_commands(text: str) -> str:
  """Returns a text with the commands that start programs as users type them.

  Args:
    text: A text with commands of a clone, `python -m launch.train` say. An
      installed package has `tff-semifl train` instead.
  """
  # A clone has a second folder, in which `launch` lies.
  if len(tff_semifl.__path__) > 1:
    return text
  return text.replace('python -m launch.', 'tff-semifl ')


def answer_version(arguments: Sequence[str]) -> None:
  """Prints the version of this package and ends the process if asked for it.

  Args:
    arguments: The command line, without the program.
  """
  if '--version' in arguments:
    print(f'tff-semifl {tff_semifl.__version__}')
    sys.exit(0)
