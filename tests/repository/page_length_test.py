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
          self.assertLessEqual(len(path.read_text().split()), _MOST_WORDS)


if __name__ == '__main__':
  absltest.main()
