# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The project's prose by paragraphs.

Prose is comments and strings of Python, comments of flagfiles, rows of tables,
and documents.
"""

from collections.abc import Iterator
import io
import pathlib
import re
import tokenize
from typing import NamedTuple

from tests.repository import source_tree

# Beside Python.
_PATTERNS = ('*.md', 'docs/**/*.md', 'launch/**/*.flags', 'tff_semifl/**/*.csv')
# The start of an empty line, list item, table row or heading.
_BOUNDARY = re.compile(r'\n(?=\s*(?:\n|[-*|#] ?|\d+\. ))')
_QUOTED = re.compile(r'[a-zA-Z]*(\'\'\'|"""|\'|")(.*)\1', re.DOTALL)


class Paragraph(NamedTuple):
  """A paragraph of prose.

  Attributes:
    line: Where it begins.
    text: As written, line by line, without comment signs and quotes.
  """

  line: int
  text: str


def find_files(root: pathlib.Path) -> list[str]:
  """Returns the files with prose, relative to `root`, sorted."""
  others = [
    path.relative_to(root).as_posix()
    for pattern in _PATTERNS
    for path in root.glob(pattern)
  ]
  return sorted([*source_tree.find_python_files(root), *others])


def find_paragraphs(path: str, text: str) -> list[Paragraph]:
  """Returns the paragraphs of a file's prose.

  Args:
    path: The file, whose suffix says what it is.
    text: What is in it.
  """
  if path.endswith('.py'):
    passages = _find_python_passages(text)
  elif path.endswith('.flags'):
    lines = text.splitlines()
    # Code ends a paragraph.
    comments = [line[1:] if line.startswith('#') else '' for line in lines]
    passages = [Paragraph(1, '\n'.join(comments))]
  elif path.endswith('.csv'):
    passages = [
      Paragraph(number, row)
      for number, row in enumerate(text.splitlines(), start=1)
    ]
  else:
    passages = [Paragraph(1, text)]
  return [p for passage in passages for p in _split(passage)]


def _split(passage: Paragraph) -> Iterator[Paragraph]:
  line, text = passage
  begin = 0
  for end in [*(m.start() for m in _BOUNDARY.finditer(text)), len(text)]:
    yield Paragraph(line + text.count('\n', 0, begin), text[begin:end])
    begin = end


def _find_python_passages(text: str) -> list[Paragraph]:
  """Returns runs of comments, and strings with what they are joined to."""
  passages = []
  previous = None
  for token in tokenize.generate_tokens(io.StringIO(text).readline):
    line = token.start[0]
    if token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
      continue
    if token.type == tokenize.COMMENT:
      content = token.string.lstrip('#')
    elif token.type == tokenize.STRING:
      content = _QUOTED.fullmatch(token.string)[2]
    else:
      previous = token.type
      continue
    gap = 2
    if token.type == previous:
      begin, before = passages[-1]
      gap = line - begin - before.count('\n')
    if gap < 2:
      passages[-1] = Paragraph(begin, before + '\n' * gap + content)
    else:
      passages.append(Paragraph(line, content))
    previous = token.type
  return passages
