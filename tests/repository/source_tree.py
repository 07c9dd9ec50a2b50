# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Python files of a tree of sources, and their imports."""

import ast
import pathlib
from typing import NamedTuple

PROJECT_ROOT = pathlib.Path(__file__).parents[2]

# The folders in which the project's own Python lies.
SOURCE_FOLDERS = (
  'tff_semifl',
  'tasks',
  'launch',
  'benchmarks',
  'examples',
  'tests',
)

# Folders beside `tff_semifl` that the wheel has as its subpackages.
PACKAGES_BESIDE = ('tasks', 'launch')


class Import(NamedTuple):
  """A name that is imported, and its line."""

  line: int
  module: str


def find_python_files() -> list[str]:
  """The project's Python files, relative to its root, sorted."""
  return sorted(
    path.relative_to(PROJECT_ROOT).as_posix()
    for folder in SOURCE_FOLDERS
    for path in (PROJECT_ROOT / folder).rglob('*.py')
    if path.name != '__init__.py' or path.read_text().strip()
  )


def find_imports(path: str) -> list[Import]:
  """Every import in a file, also those inside functions."""
  imports = []
  for node in ast.walk(ast.parse((PROJECT_ROOT / path).read_text(), path)):
    if isinstance(node, ast.Import):
      imports.extend(Import(node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      imports.extend(
        Import(node.lineno, f'{node.module}.{alias.name}')
        for alias in node.names
      )
  return sorted(imports)


def is_own(module: str) -> bool:
  """Whether a module is the project's, not another package's."""
  return module.split('.')[0] in SOURCE_FOLDERS


def find_module_file(module: str) -> str | None:
  """The file of this project that an import refers to."""
  parts = module.split('.')
  for stem in ('/'.join(parts), '/'.join(parts[:-1])):
    for candidate in (f'{stem}.py', f'{stem}/__init__.py'):
      if stem and (PROJECT_ROOT / candidate).is_file():
        return candidate
  return None
