# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the files to read for understanding a round of SemiFL."""

import functools

from absl.testing import absltest

from tests.repository import source_tree

# Imports are followed from here to the file with the gradient tape.
_FIRST = 'tff_semifl/core/alternating_round.py'
_CLIENT = 'tff_semifl/core/client_update.py'
_LAST = 'tff_semifl/core/training_loop.py'
_ROOMS = ('tff_semifl/core/',)
# Read on the way, without an import path to the tape.
_LABELING = 'tff_semifl/core/labeling.py'
_MOST_FILES = 12
_MOST_LINES = 2000


@functools.cache
def _find_imported(path: str) -> set[str]:
  """The files of the rooms that a file imports."""
  imports = source_tree.find_imports(path)
  files = [source_tree.find_module_file(module) for _, module in imports]
  return {file for file in files if file and file.startswith(_ROOMS)}


def _find_between(first: str, last: str) -> set[str]:
  """The files on all import paths from one file to another."""
  found = {last} if first == last else set()
  for path in _find_imported(first) - {first}:
    found |= _find_between(path, last)
  return found and {first, *found}


class ReadingListTest(absltest.TestCase):
  def test_one_round_is_short(self):
    files = {_LABELING, *_find_between(_FIRST, _LAST)}
    files |= _find_between(_CLIENT, _LAST)
    lines = {
      path: len((source_tree.PROJECT_ROOT / path).read_text().splitlines())
      for path in files
    }
    self.assertLessEqual(len(files), _MOST_FILES, lines)
    self.assertLessEqual(sum(lines.values()), _MOST_LINES, lines)
