# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The length of pages."""

from absl.testing import absltest

from tests.repository import source_tree

_MOST_WORDS = 1200
# References with an entry for each setting and public name.
_ANY_LENGTH = ('docs/settings.md', 'docs/api.md')


class PageLengthTest(absltest.TestCase):
  def test_pages_are_short(self):
    root = source_tree.PROJECT_ROOT
    for path in sorted([*root.glob('*.md'), *root.glob('docs/**/*.md')]):
      name = path.relative_to(root).as_posix()
      if name not in _ANY_LENGTH:
        with self.subTest(name):
          prose = [
            word
            for line in path.read_text().splitlines()
            # Rows of tables are looked up, not read.
            if not line.startswith('| ')
            for word in line.split()
          ]
          self.assertLessEqual(len(prose), _MOST_WORDS)


if __name__ == '__main__':
  absltest.main()
