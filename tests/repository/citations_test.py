# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Citations lead somewhere, in code, tests, tables, flagfiles, documents."""

import collections
import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized

from tests.repository import citations
from tests.repository import prose
from tests.repository import source_tree
import tff_semifl

_ROOT = source_tree.PROJECT_ROOT
_LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
# Written so that they are no citations of this file.
_NO_DIFFERENCE = f'D{99}'
_NO_SECTION = f'H.{1}'
_TABLE = 'Table'
_PAPER = 'SemiFL'


class CitationsTest(parameterized.TestCase):
  def test_all_citations_lead_somewhere(self):
    anchors = citations.find_anchors(_ROOT)
    counts = collections.Counter()
    dangling = []
    for path in prose.find_files(_ROOT):
      for line, cited, problem in citations.find_citations(
        _ROOT, path, anchors
      ):
        counts[pathlib.Path(path).suffix] += 1
        if problem:
          dangling.append(f'{path}:{line}: {cited!r}: {problem}')
    self.assertEmpty(dangling, '\n'.join(dangling))
    # All kinds of files were looked at.
    self.assertSameElements(counts, ['.py', '.md', '.flags', '.csv'])

  def test_sections_and_differences_have_no_gaps(self):
    anchors = citations.find_anchors(_ROOT)
    numbers = collections.defaultdict(list)
    for anchor in anchors:
      letters, number = re.fullmatch(r'([A-Z]+)\.?(\d+)', anchor).groups()
      kind = f'{letters}.' if '.' in anchor else letters
      numbers[kind].append(int(number))
    for kind, found in numbers.items():
      self.assertCountEqual(found, range(1, len(found) + 1), kind)
      # The appendix has one page for each paper.
      if kind.endswith('.'):
        self.assertEqual(found, sorted(found), kind)
    self.assertSameElements(
      numbers, [*(f'{letter}.' for letter in 'ABCDEFGHI'), 'D', 'FL', 'S']
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

  def _find(self, text: str, name: str = 'a.py'):
    """Returns the citations of one docstring, and the wrong ones."""
    if name.endswith('.py'):
      text = f'"""{text}"""\n'
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / name).write_text(text)
    anchors = ['A.1', 'A.2', 'A.3', 'D1', 'D2', 'FL1', 'S1']
    found = citations.find_citations(root, name, anchors)
    return [(line, cited, bool(problem)) for line, cited, problem in found]

  def test_finds_sections_and_differences(self):
    text = (
      f'One (A.1),\nranges (A.1 to A.3, D1-D2)\nand {_NO_DIFFERENCE}, FL1, S1.'
    )
    self.assertEqual(
      self._find(text),
      [
        (1, 'A.1', False),
        (2, 'A.1 to A.3', False),
        (2, 'D1-D2', False),
        (3, _NO_DIFFERENCE, True),
        (3, 'FL1', False),
        (3, 'S1', False),
      ],
    )

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

  @parameterized.parameters(
    _NO_SECTION,
    _NO_DIFFERENCE,
    # A range of which the end is missing.
    f'A.2 to A.{4}',
    f'D1 to D{3}',
  )
  def test_refuses_what_the_specification_does_not_have(self, cited):
    self.assertEqual(self._find(f'See {cited}.'), [(1, cited, True)])

  @parameterized.parameters(
    # The only paper that is named, or the nearest, or the next.
    (f'{_PAPER}.\n\nIts {_TABLE} 5.', False),
    (f'{_PAPER}, {_TABLE} 5; Zhang et al., {_TABLE} 4.', False),
    (f'Zhang et al. and {_TABLE} 5 of {_PAPER}.', False),
    # The only one that has it.
    (f'{_TABLE} 5.', False),
    # Either.
    (f'{_TABLE} 4.', True),
    (f'{_PAPER}, Zhang et al.\n\nIts {_TABLE} 4.', True),
    # The one that is meant has none.
    (f'{_PAPER}: {_TABLE} 6.', True),
    (f'Zhang et al., {_TABLE}s 1 to 5.', True),
    (f'Zhang et al., {_TABLE}s 1, 3 and F.{2}.', True),
    # Neither paper has this table.
    (f'{_TABLE} 11.', True),
  )
  def test_knows_what_papers_have(self, text, is_dangling):
    problems = [problem for _, _, problem in self._find(text)]
    self.assertEqual(any(problems), is_dangling, problems)


if __name__ == '__main__':
  absltest.main()
