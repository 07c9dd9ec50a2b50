# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rules that ruff lacks: license lines, type hints of arguments."""

import ast

from absl.testing import absltest

from tests.repository import source_tree

_LICENSE_LINES = (
  '# Copyright 2026 The tff_semifl Authors.\n'
  '# SPDX-License-Identifier: Apache-2.0\n'
)


def _find_arguments_without_hint(source: str) -> list[str]:
  """Lists 'line: function(argument)' for public functions and methods."""
  tree = ast.parse(source)
  classes = [
    node
    for node in tree.body
    if isinstance(node, ast.ClassDef) and not node.name.startswith('_')
  ]
  return [
    f'{node.lineno}: {node.name}({argument.arg})'
    for body in (tree.body, *(each.body for each in classes))
    for node in body
    if isinstance(node, ast.FunctionDef)
    and (not node.name.startswith('_') or node.name == '__init__')
    for argument in ast.walk(node.args)
    if isinstance(argument, ast.arg)
    and argument.annotation is None
    and argument.arg not in ('self', 'cls')
    and not argument.arg.startswith('_')
  ]


class StyleTest(absltest.TestCase):
  def test_files_name_their_license_and_types_of_arguments(self):
    for path in source_tree.find_python_files():
      with self.subTest(path):
        source = (source_tree.PROJECT_ROOT / path).read_text()
        self.assertStartsWith(source, _LICENSE_LINES)
        if not path.startswith('tests/'):
          self.assertEmpty(_find_arguments_without_hint(source))
