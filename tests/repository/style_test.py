# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rules that ruff lacks: license lines, type hints of arguments."""

import ast
from collections.abc import Iterator

from absl.testing import absltest

from tests.repository import source_tree

_LICENSE_LINES = (
  '# Copyright 2026 The tff_semifl Authors.\n'
  '# SPDX-License-Identifier: Apache-2.0\n'
)


def _find_public_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
  """Yields functions of a module, and methods of its classes; none inside."""
  for node in body:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
      if not node.name.startswith('_') or node.name == '__init__':
        if isinstance(node, ast.FunctionDef):
          yield node
        else:
          yield from _find_public_functions(node.body)


def find_arguments_without_hint(source: str) -> list[str]:
  """Returns 'line: function(argument)' for each that has no type hint."""
  found = []
  for function in _find_public_functions(ast.parse(source).body):
    arguments = function.args
    for argument in (
      *arguments.posonlyargs,
      *arguments.args,
      *arguments.kwonlyargs,
      arguments.vararg,
      arguments.kwarg,
    ):
      if (
        argument is not None
        and argument.annotation is None
        and argument.arg not in ('self', 'cls')
        and not argument.arg.startswith('_')
      ):
        found.append(f'{function.lineno}: {function.name}({argument.arg})')
  return found


class StyleTest(absltest.TestCase):
  def test_every_file_names_its_license(self):
    without = [
      path
      for path in source_tree.find_python_files(source_tree.PROJECT_ROOT)
      if not (source_tree.PROJECT_ROOT / path)
      .read_text()
      .startswith(_LICENSE_LINES)
    ]
    self.assertEmpty(without, f'Please begin them with:\n{_LICENSE_LINES}')

  def test_public_arguments_have_type_hints(self):
    for path in source_tree.find_python_files(source_tree.PROJECT_ROOT):
      if not path.startswith('tests/'):
        with self.subTest(path):
          source = (source_tree.PROJECT_ROOT / path).read_text()
          self.assertEmpty(find_arguments_without_hint(source))


if __name__ == '__main__':
  absltest.main()
