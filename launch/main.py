# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The list of programs, and the command that starts them.

An installed package has the command tff-semifl. In a clone, it is this:

  python -m launch train semifl --task=digits
  python -m launch.train semifl --task=digits
"""

import ast
import pathlib
import runpy
import sys

from tff_semifl import launch
from tff_semifl.launch import command_line

PROGRAMS = (
  'train',
  'demo',
  'site',
  'sweep',
  'export_saved_model',
  'evaluate',
  'predict',
  'plot',
  'show_augmentations',
  'show_partition',
  'show_settings',
)


def main() -> None:
  """Runs the program that is the first argument, with the other arguments."""
  name, *arguments = sys.argv[1:] or ['']
  command_line.answer_version(sys.argv[1:])
  if name not in PROGRAMS:
    is_asked = name in command_line.HELP
    how = command_line.spell_commands('python -m launch.PROGRAM')
    lines = [f'usage: {how} [--flag=value ...]', '', 'programs:']
    lines.extend(f'  {key}: {summarize(key)}' for key in PROGRAMS)
    if name and not is_asked:
      lines.insert(0, f'there is no program {name!r}')
    print('\n'.join(lines), file=sys.stdout if is_asked else sys.stderr)
    sys.exit(0 if is_asked else 1)
  sys.argv[1:] = arguments
  launch.begin()
  runpy.run_module(
    f'tff_semifl.launch.{name}', run_name='__main__', alter_sys=True
  )


def summarize(name: str) -> str:
  """Returns the first line of a program's description."""
  # Read and not imported, as TensorFlow takes seconds.
  source = pathlib.Path(__file__).with_name(f'{name}.py').read_text()
  return ast.get_docstring(ast.parse(source)).partition('\n')[0]
