# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Code blocks in documents, and the commands in shell blocks.

As a program, this module runs a program of this project in the folder that the
variable `RUN_IN` names:

  python -m tests.launch.documents launch.train semifl --num_labeled=50
"""

import ast
from collections.abc import Callable, Sequence
import functools
import os
import pathlib
import re
import runpy
import subprocess
import sys
import textwrap
from typing import Any, NamedTuple

from tff_semifl import settings
from tff_semifl.cli import command_line

_BLOCK = re.compile(
  r'(?<=\n\n)(?:    .*\n|\n(?=    ))+|^```\w*\n[^`]*```$', re.MULTILINE
)
_INLINE = re.compile(r'(?<!`)`(python -m [^`]+)`')
_PROGRAMS = (
  *('python', 'tff-semifl', 'make', 'pip', 'ray', 'docker', 'bazel'),
  *('openssl', 'mkdir', 'cp'),
)
_SHELL = re.compile(rf'(?:{"|".join(_PROGRAMS)}|export) |\w+=\S+\s')
_PYTHON = re.compile(r'^(?:import|from|def|>>>) ', re.MULTILINE)
# Each argument ends with a null character, each command with a line break.
_RECORDER = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" >>"${RECORD}"
echo >>"${RECORD}"
"""


class Block(NamedTuple):
  """A block of code in a document.

  Attributes:
    path: The document, relative to the repository's root.
    line: The line where the block begins.
    code: The content.
  """

  path: str
  line: int
  code: str

  @property
  def is_shell(self) -> bool:
    """Whether the first line that is not a comment is for a shell."""
    return bool(_SHELL.match(re.sub(r'^#.*\n', '', self.code)))

  @property
  def is_python(self) -> bool:
    """Whether the block is Python."""
    return not self.is_shell and bool(_PYTHON.search(self.code))


def find_blocks(root: pathlib.Path) -> list[Block]:
  """The blocks and commands of documents, and of programs' help."""
  blocks = []
  for path in (
    root / 'README.md',
    root / 'CONTRIBUTING.md',
    *sorted((root / 'docs').rglob('*.md')),
    *sorted((root / 'launch').glob('[!_]*.py')),
    *sorted((root / 'benchmarks').glob('[!_]*.py')),
    *sorted((root / 'examples').glob('[!_]*.py')),
  ):
    text = path.read_text()
    if path.suffix == '.py':
      # The help of a program is indented by two spaces.
      text = ast.get_docstring(ast.parse(text)) or ''
      text = re.sub('^  ', '    ', f'{text}\n', flags=re.MULTILINE)
    for match in sorted(
      [*_BLOCK.finditer(text), *_INLINE.finditer(text)], key=re.Match.start
    ):
      if match.re is _INLINE:
        code = ' '.join(match[1].split())
      else:
        code = textwrap.dedent(match[0])
        code = re.sub(r'^```.*\n?', '', code, flags=re.MULTILINE)
      blocks.append(
        Block(
          path.relative_to(root).as_posix(),
          text.count('\n', 0, match.start()) + 1,
          code.replace('.venv/bin/python', 'python'),
        )
      )
  return blocks


def find_commands(block: Block, folder: pathlib.Path) -> list[list[str]]:
  """The commands of a shell block, as lists of arguments.

  Bash runs the block with replaced programs, which only record their arguments.

  Args:
    block: The block.
    folder: The folder of the reader.

  Raises:
    ValueError: If the block ends with an error, such as an unset variable.
  """
  programs = folder / 'programs'
  if not programs.exists():
    programs.mkdir()
    for name in _PROGRAMS:
      (programs / name).write_text(_RECORDER)
      (programs / name).chmod(0o755)
  record = programs / 'record'
  record.write_text('')
  completed = subprocess.run(
    ['bash', '-euo', 'pipefail', '-c', block.code],
    cwd=folder,
    env={
      'PATH': f'{programs}:{os.environ["PATH"]}',
      'RECORD': str(record),
      'HOME': str(folder),
    },
    capture_output=True,
    text=True,
  )
  if completed.returncode:
    raise ValueError(f'{block.path}:{block.line}: {completed.stderr}')
  commands = record.read_text().removesuffix('\0\n')
  return [line.split('\0') for line in commands.split('\0\n') if line]


def parse(
  main: Callable[..., None],
  create: command_line.Create | settings.Settings,
  *,
  arguments: Sequence[str] | None = None,
  takes: Callable[[str], bool] | None = None,
  **_: object,
) -> tuple[Any, list[str]]:
  """Reads the command line as `program.run` does, without running `main`."""
  del main
  if isinstance(create, settings.Settings):
    create = functools.partial(settings.change, create)
  if arguments is None:
    arguments = command_line.read_flagfiles(sys.argv[1:])
  kinds = {'verbosity': int, 'help': bool}
  chosen, arguments = command_line.read(arguments, kinds)
  if chosen.get('help'):
    return command_line.choose(create, arguments).part, []
  return command_line.parse(create, arguments, '', takes=takes)


if __name__ == '__main__':
  os.chdir(os.environ['RUN_IN'])
  sys.argv = sys.argv[1:]
  runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)
