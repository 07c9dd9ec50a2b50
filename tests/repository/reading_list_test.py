# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the files that docs/method.md asks its reader to read."""

import re

from absl.testing import absltest

from tests.repository import source_tree

_MOST_FILES = 8
_MOST_LINES = 1500


class ReadingListTest(absltest.TestCase):
  def test_is_short(self):
    text = (source_tree.PROJECT_ROOT / 'docs' / 'method.md').read_text()
    _, list_of_files = text.split('## Where to read it')
    files = re.findall(r'(?m)^\d\. \[?`(\S+)`', list_of_files)
    self.assertNotEmpty(files)
    self.assertLessEqual(len(files), _MOST_FILES)
    num_lines = sum(
      len((source_tree.PROJECT_ROOT / file).read_text().splitlines())
      for file in files
    )
    self.assertLessEqual(num_lines, _MOST_LINES)


if __name__ == '__main__':
  absltest.main()
