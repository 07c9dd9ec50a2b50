# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Links and cited differences lead somewhere, and pages are short."""

import re

from absl.testing import absltest

from tests.repository import source_tree
import tff_semifl

_ROOT = source_tree.PROJECT_ROOT
_LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
# Places where a paper and its authors' code differ.
_DIFFERENCE = re.compile(r'^\| ((?:D|FL|S)\d+) \| ', re.MULTILINE)
_CITED = re.compile(r'\(((?:D|FL|S)\d+)\)')
_MOST_WORDS = 1200
# References with an entry for each setting and public name.
_ANY_LENGTH = ('docs/settings.md', 'docs/api.md')


def _find_pages():
  return sorted([*_ROOT.glob('*.md'), *_ROOT.glob('docs/**/*.md')])


class DocumentsTest(absltest.TestCase):
  def test_links_lead_somewhere(self):
    for page in [*_find_pages(), *_ROOT.glob('tff_semifl/**/*.md')]:
      for target in _LINK.findall(page.read_text()):
        if '://' not in target:
          with self.subTest(f'{page.name}: {target}'):
            self.assertTrue((page.parent / target).exists())

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

  def test_navigation_has_all_pages(self):
    navigation = (_ROOT / 'mkdocs.yml').read_text()
    pages = [
      path.relative_to(_ROOT / 'docs')
      for path in (_ROOT / 'docs').rglob('*.md')
    ]
    # mkdocs_hooks.py makes pages of these. Bazel adds an `__init__.py`.
    pages += [
      path.relative_to(_ROOT).with_suffix('.md')
      for pattern in ('[!_]*.py', '*.ipynb')
      for path in (_ROOT / 'examples').glob(pattern)
    ]
    self.assertEmpty([p for p in pages if f' {p}\n' not in navigation])

  def test_pages_are_short(self):
    for path in _find_pages():
      name = path.relative_to(_ROOT).as_posix()
      if name not in _ANY_LENGTH:
        # Rows of tables are looked up, not read.
        lines = path.read_text().splitlines()
        words = [line.split() for line in lines if not line.startswith('| ')]
        self.assertLessEqual(sum(map(len, words)), _MOST_WORDS, name)

  def test_version_to_cite_is_this_one(self):
    citation = (_ROOT / 'CITATION.cff').read_text()
    self.assertIn(f'\nversion: {tff_semifl.__version__}\n', citation)


if __name__ == '__main__':
  absltest.main()
