# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
  """A Markdown table, without a final line break."""
  lines = [_row(heading), _row(['---'] * len(heading))]
  lines.extend(_row(row) for row in rows)
  return '\n'.join(lines)


def facts(
  rows: Iterable[tuple[str, object]], heading: Sequence[str] = ('what', '')
) -> str:
  """A table of names and values."""
  return table(heading, ([name, escape(str(value))] for name, value in rows))


def escape(text: str) -> str:
  """Escapes text for a cell."""
  return text.replace('|', r'\|').replace('\n', ' ')


def _row(cells: Sequence[str]) -> str:
  # An empty cell is one space wide.
  return '|' + ''.join(f' {cell} |' if cell else ' |' for cell in cells)
