# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Citations of docs/algorithms.md lead somewhere, in code and in documents.

They are of sections (A.11) and of D-, FL- or S-numbers, one or a range (A.6 to
A.9, D8-D10).
"""

import collections
import re

from absl.testing import absltest
from absl.testing import parameterized

from tests.repository import source_tree
import tff_semifl

_ROOT = source_tree.PROJECT_ROOT
_LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
# Beside Python.
_PATTERNS = ('*.md', 'docs/**/*.md', 'launch/**/*.flags', 'tff_semifl/**/*.csv')
_HEADING = re.compile(r'^#{2,4} ([A-I]\.\d+) ', re.MULTILINE)
_DIFFERENCE = re.compile(r'^- \*\*((?:D|FL|S)\d+), ', re.MULTILINE)
_CITATION = re.compile(
  r'(?<![\w./-])(?P<letter>[A-I]\.|D|FL|S)(?P<first>\d{1,2})\b'
  r'(?:(?:\s+to\s+|-|–)(?P=letter)(?P<last>\d{1,2})\b)?'
)


def _find_anchors():
  """Returns sections and numbers of the specification, as they come."""
  pages = [
    _ROOT / 'docs/algorithms.md',
    *sorted(_ROOT.glob('docs/algorithms/*.md')),
  ]
  texts = [page.read_text() for page in pages]
  return [
    anchor
    for pattern in (_HEADING, _DIFFERENCE)
    for text in texts
    for anchor in pattern.findall(text)
  ]


def _find_dangling(text, anchors):
  """Returns what a text cites that is not there."""
  missing = set()
  for match in _CITATION.finditer(text):
    first, last = int(match['first']), int(match['last'] or match['first'])
    cited = {f'{match["letter"]}{n}' for n in range(first, last + 1)}
    missing |= cited.difference(anchors)
  return missing


class CitationsTest(parameterized.TestCase):
  def test_all_citations_lead_somewhere(self):
    anchors = {*_find_anchors()}
    files = [_ROOT / path for path in source_tree.find_python_files(_ROOT)]
    for pattern in _PATTERNS:
      files.extend(_ROOT.glob(pattern))
    for path in files:
      self.assertEmpty(_find_dangling(path.read_text(), anchors), path)

  @parameterized.parameters(
    ('One (A.1), ranges (A.1 to A.3, D1-D2) and S1.', []),
    # Written so that they are no citations of this file.
    (f'See H.{1}.', ['H' + '.1']),
    (f'D{99}, D1', ['D' + '99']),
    (f'A range to its end, A.2 to A.{4}.', ['A' + '.4']),
  )
  def test_finds_what_the_specification_does_not_have(self, text, expected):
    anchors = {'A.1', 'A.2', 'A.3', 'D1', 'D2', 'S1'}
    self.assertCountEqual(_find_dangling(text, anchors), expected)

  def test_sections_and_differences_are_in_order(self):
    anchors = _find_anchors()
    sections = [a for a in anchors if '.' in a]
    differences = [a for a in anchors if '.' not in a]
    numbers = collections.defaultdict(list)
    for section in sections:
      letter, number = section.split('.')
      numbers[letter].append(int(number))
    for letter, found in numbers.items():
      self.assertEqual(found, list(range(1, len(found) + 1)), letter)
    self.assertSameElements(numbers, [*'ABCDEFGHI'])
    for letter in ('D', 'FL', 'S'):
      found = [each for each in differences if each.startswith(letter)]
      self.assertNotEmpty(found)
      self.assertEqual(
        found, [f'{letter}{n}' for n in range(1, len(found) + 1)]
      )

  def test_links_between_documents_lead_somewhere(self):
    for document in [*_ROOT.glob('*.md'), *_ROOT.glob('docs/**/*.md')]:
      for target in _LINK.findall(document.read_text()):
        if '://' not in target:
          with self.subTest(f'{document.name}: {target}'):
            self.assertTrue((document.parent / target).exists())

  def test_what_is_to_be_cited_is_this_version(self):
    citation = (_ROOT / 'CITATION.cff').read_text()
    self.assertIn(f'\nversion: {tff_semifl.__version__}\n', citation)

  def test_navigation_of_the_site_has_all_pages(self):
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
    missing = [str(page) for page in pages if f' {page}\n' not in navigation]
    self.assertEmpty(missing)
    self.assertGreater(len(pages), 30)


if __name__ == '__main__':
  absltest.main()
