# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The list of programs, and the command that starts a program.

An installed package has the command tff-semifl. In a clone, these two commands
are equivalent:

  python -m launch train semifl --task=digits
  python -m launch.train semifl --task=digits
"""

import ast
import pathlib
import runpy
import sys

from tff_semifl.cli import command_line
from tff_semifl.cli import program
from tff_semifl.settings import references

PROGRAMS = sorted(
  path.stem for path in pathlib.Path(__file__).parent.glob('[!_]*.py')
)


def main() -> None:
  """Runs the program named by the first argument, with the other arguments."""
  name, *arguments = program.read_arguments() or ['']
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
  program.begin()
  runpy.run_module(
    f'{references.find_package("launch")}.{name}',
    run_name='__main__',
    alter_sys=True,
  )


def summarize(name: str) -> str:
  """The first line of a program's description."""
  # Parsed instead of imported, because importing TensorFlow takes seconds.
  source = pathlib.Path(__file__).with_name(f'{name}.py').read_text()
  return ast.get_docstring(ast.parse(source)).partition('\n')[0]


if __name__ == '__main__':
  main()
