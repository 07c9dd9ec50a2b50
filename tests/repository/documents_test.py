# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that links lead somewhere, and that cited differences exist."""

import re

from absl.testing import absltest

from tests.repository import source_tree

_ROOT = source_tree.PROJECT_ROOT
# A row that ends with an example and its number of lines.
_EXAMPLE = re.compile(r'\((\S+/examples/\w+\.py)\) \| (\d+) \|\n')
_LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
_DIFFERENCE = re.compile(r'^\| ((?:D|FL|S)\d+) \| ', re.MULTILINE)
_CITED = re.compile(r'\(((?:D|FL|S)\d+)\)')


class DocumentsTest(absltest.TestCase):
  def test_links_lead_somewhere(self):
    for page in [
      *_ROOT.glob('*.md'),
      *_ROOT.glob('docs/**/*.md'),
      *_ROOT.glob('tff_semifl/**/*.md'),
    ]:
      for target in _LINK.findall(page.read_text()):
        if '://' not in target:
          with self.subTest(f'{page.name}: {target}'):
            self.assertTrue((page.parent / target).exists())

  def test_examples_have_as_many_lines_as_stated(self):
    page = _ROOT / 'docs' / 'own_methods.md'
    rows = _EXAMPLE.findall(page.read_text())
    self.assertGreater(len(rows), 8)
    for target, stated in rows:
      lines = (page.parent / target).read_text().splitlines()
      self.assertLen(lines, int(stated), target)

  def test_cited_differences_are_in_the_appendix(self):
    pages = (_ROOT / 'docs' / 'algorithms').glob('*.md')
    known = {
      number
      for page in pages
      for number in _DIFFERENCE.findall(page.read_text())
    }
    self.assertNotEmpty(known)
    for path in source_tree.find_python_files():
      cited = _CITED.findall((_ROOT / path).read_text())
      self.assertContainsSubset(cited, known, path)
