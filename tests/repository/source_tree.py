# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Python files of a source tree, and their imports."""

import ast
import pathlib

PROJECT_ROOT = pathlib.Path(__file__).parents[2]

SOURCE_FOLDERS = (
  'tff_semifl',
  'tasks',
  'launch',
  'benchmarks',
  'examples',
  'tests',
)


def find_python_files() -> list[str]:
  """The project's Python files, relative to its root, sorted."""
  return sorted(
    path.relative_to(PROJECT_ROOT).as_posix()
    for folder in SOURCE_FOLDERS
    for path in (PROJECT_ROOT / folder).rglob('*.py')
    if path.name != '__init__.py' or path.read_text().strip()
  )


def find_imports(path: str) -> list[tuple[int, str]]:
  """The line and name of every import in a file, also inside functions."""
  imports = []
  for node in ast.walk(ast.parse((PROJECT_ROOT / path).read_text(), path)):
    if isinstance(node, ast.Import):
      imports.extend((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      imports.extend(
        (node.lineno, f'{node.module}.{alias.name}') for alias in node.names
      )
  return sorted(imports)


def find_module_file(module: str) -> str | None:
  """The file of this project that an import refers to."""
  parts = module.split('.')
  for stem in ('/'.join(parts), '/'.join(parts[:-1])):
    for candidate in (f'{stem}.py', f'{stem}/__init__.py'):
      if stem and (PROJECT_ROOT / candidate).is_file():
        return candidate
  return None
