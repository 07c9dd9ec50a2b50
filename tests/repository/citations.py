# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Citations in the project's prose, and their targets.

Comments cite the pages of docs/algorithms by section (A.11), and their appendix
by D-, FL- or S-number, one or a range (A.6 to A.9, D8-D10). Prose cites papers
by what they number: "Table 2 of SemiFL", "Zhang et al., Tables 1 to 4, C.1",
"equation 4", "appendix A.2". A singular takes one number, a plural a list.
"""

from collections.abc import Collection
import pathlib
import re
from typing import NamedTuple

from tests.repository import prose

SPECIFICATION = 'docs/algorithms.md'
_SPECIFICATION_PAGES = 'docs/algorithms/*.md'

_HEADING = re.compile(r'^#{2,4} ([A-I]\.\d+) ', re.MULTILINE)
_DIFFERENCE = re.compile(r'^\| ((?:D|FL|S)\d+) \| ', re.MULTILINE)
_SECTION_OR_DIFFERENCE = re.compile(
  r'(?<![\w./-])(?P<letter>[A-I]\.|D|FL|S)(?P<first>\d{1,2})\b'
  r'(?:(?:\s+to\s+|-|–)(?P=letter)(?P<last>\d{1,2})\b)?'
)

_ITEM = r'(?:[A-G](?:\.\d+)?|\d+(?:\.\d+)?)\b'
_SEPARATOR = r'(?:,\s+and\s+|,\s+|\s+and\s+|\s+or\s+|\s+to\s+|-|–)'
_SINGULAR = r'Table|Figure|Algorithm|[Ee]quation|[Ee]q\.|[Ss]ection|[Aa]ppendix'
_PLURAL = r'Tables|Figures|[Ee]quations|[Ss]ections|[Aa]ppendices'
_PAPER_REFERENCE = re.compile(
  rf'\b(?P<kind>{_PLURAL})\s+(?P<items>{_ITEM}(?:{_SEPARATOR}{_ITEM})*)'
  rf'|\b(?P<one_kind>{_SINGULAR})\s+(?P<item>{_ITEM})'
)
_KINDS = {'eq.': 'equation', 'appendices': 'appendix'}


class Paper(NamedTuple):
  """A paper, and its numbered items.

  Attributes:
    name: A regular expression of what it is called.
    things: For each kind the numbers that there are.
  """

  name: str
  things: dict[str, set[str]]


def _numbers(*ranges: tuple[str, int, int]) -> set[str]:
  """Returns 'A.1', 'A.2' of ('A.', 1, 2), for each range."""
  return {
    f'{prefix}{number}'
    for prefix, first, last in ranges
    for number in range(first, last + 1)
  }


PAPERS = {
  'SemiFL': Paper(
    r'SemiFL',
    {
      'section': _numbers(('', 1, 5), ('3.', 1, 4), ('4.', 1, 1)),
      'appendix': {*'ABCD'} | _numbers(('C.', 1, 3), ('D.', 1, 5)),
      'equation': _numbers(('', 1, 36)),
      'table': _numbers(('', 1, 5)),
      'figure': _numbers(('', 1, 10)),
      'algorithm': {'1'},
    },
  ),
  'Zhang et al.': Paper(
    r'Zhang\s+et\s+al\.|Zhang, Yao|[Tt]he\s+benchmark\b',
    {
      'section': _numbers(('', 1, 5), ('3.', 1, 3), ('4.', 1, 4)),
      'appendix': {*'ABCDEFG'} | _numbers(('A.', 1, 3)),
      'equation': _numbers(('', 1, 10)),
      'table': _numbers(('', 1, 4), *((f'{a}.', 1, 1) for a in 'ACFG')),
      'figure': _numbers(('', 1, 4), *((f'{a}.', 1, 1) for a in 'BDEG')),
      'algorithm': set(),
    },
  ),
  # The papers that are cited.
  '(FL)²': Paper(
    r'\(FL\)(?:\^2|²)',
    {
      'section': {'5.1'},
      'appendix': {'C'},
      'equation': _numbers(('', 7, 15)),
      'table': {'1', '4'},
      'figure': set(),
      'algorithm': set(),
    },
  ),
}


class Citation(NamedTuple):
  """A citation.

  Attributes:
    line: Where.
    cited: As written.
    problem: Why it leads nowhere, or None.
  """

  line: int
  cited: str
  problem: str | None


def find_anchors(root: pathlib.Path) -> list[str]:
  """Returns sections and numbers of the specification, in order."""
  pages = [*root.glob(SPECIFICATION), *sorted(root.glob(_SPECIFICATION_PAGES))]
  texts = [page.read_text() for page in pages]
  return [
    anchor
    for pattern in (_HEADING, _DIFFERENCE)
    for text in texts
    for anchor in pattern.findall(text)
  ]


def find_citations(
  root: pathlib.Path, path: str, anchors: Collection[str]
) -> list[Citation]:
  """Returns the citations of a file, in the order of lines.

  A reference is to the paper that is named right after it ("Table 2 of
  SemiFL"), else to the last one named before it in the paragraph, else to the
  only one that the file names, else to the only one that has such a thing.

  Args:
    root: Where the tree of sources begins.
    path: Relative to it.
    anchors: Sections, D-, FL- and S-numbers that there are.
  """
  paragraphs = prose.find_paragraphs(path, (root / path).read_text())
  names = _find_names('\n\n'.join(p.text for p in paragraphs))
  if path.endswith('.md') and paragraphs:
    title = paragraphs[0].text.lstrip().partition('\n')[0]
    in_title = _find_names(title)
    names = in_title if len(in_title) == 1 else names
  found = []
  for paragraph in paragraphs:
    rest = paragraph.text
    for match in _PAPER_REFERENCE.finditer(paragraph.text):
      kind = (match['kind'] or match['one_kind']).lower()
      kind = _KINDS.get(kind, kind.removesuffix('s'))
      items = match['items'] or match['item']
      if kind == 'section' and re.match(r'[A-I]\.', items):
        continue  # One of the specification.
      paper = _find_paper(paragraph.text, match, kind, names)
      found.append(
        Citation(
          _find_line(paragraph, match),
          match[0],
          _find_paper_problem(paper, kind, _expand(items)),
        )
      )
      blank = ' ' * len(match[0])
      rest = rest[: match.start()] + blank + rest[match.end() :]
    for match in _SECTION_OR_DIFFERENCE.finditer(rest):
      first, last = int(match['first']), int(match['last'] or match['first'])
      wanted = _numbers((match['letter'], first, last))
      missing = ', '.join(sorted(wanted.difference(anchors)))
      problem = f'{SPECIFICATION} has no {missing}' if missing else None
      found.append(Citation(_find_line(paragraph, match), match[0], problem))
  return sorted(found, key=lambda citation: citation.line)


def _find_line(paragraph: prose.Paragraph, match: re.Match[str]) -> int:
  return paragraph.line + paragraph.text.count('\n', 0, match.start())


def _find_names(text: str) -> set[str]:
  return {key for key, paper in PAPERS.items() if re.search(paper.name, text)}


def _find_paper(
  text: str, match: re.Match[str], kind: str, names: set[str]
) -> str | None:
  """Returns the key of the cited paper, or None if unclear."""
  for key, paper in PAPERS.items():
    after = rf'\s+(?:of|in)\s+(?:the\s+)?(?:{paper.name})'
    if re.match(after, text[match.end() :]):
      return key
  before = [
    (name.start(), key)
    for key, paper in PAPERS.items()
    for name in re.finditer(paper.name, text[: match.start()])
  ]
  if before:
    return max(before)[1]
  if len(names) == 1:
    return min(names)
  items = set(_expand(match['items'] or match['item']))
  having = [key for key, paper in PAPERS.items() if items <= paper.things[kind]]
  return having[0] if len(having) == 1 else None


def _find_paper_problem(
  paper: str | None, kind: str, items: list[str]
) -> str | None:
  if paper is None:
    return f'of which paper? {" or ".join(PAPERS)}'
  missing = [i for i in items if i not in PAPERS[paper].things[kind]]
  return f'{paper} has no {kind} {", ".join(missing)}' if missing else None


def _expand(items: str) -> list[str]:
  """Returns '1', '2', '3', 'C.1' of '1 to 3, C.1'."""
  items = re.sub(
    r'\b(\d+)(?:\s+to\s+|-|–)(\d+)\b(?!\.)',
    lambda m: ', '.join(map(str, range(int(m[1]), int(m[2]) + 1))),
    items,
  )
  return re.findall(_ITEM, items)
