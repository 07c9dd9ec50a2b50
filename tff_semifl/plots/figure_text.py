# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Text of figures, wrapped so that names of any length fit."""

from collections.abc import Sequence
import textwrap
from typing import NamedTuple

# Mean width of a character and height of a line, relative to the size of
# Matplotlib's font. Capitals are wider.
_CHARACTER_WIDTH = 0.62
_LINE_HEIGHT = 1.4
_POINTS_PER_INCH = 72


class Names(NamedTuple):
  """Names along an axis or in a legend.

  Attributes:
    texts: The names, wrapped.
    length: Length of the longest line in inches.
    height: Height of the name with the most lines in inches.
  """

  texts: list[str]
  length: float
  height: float


def wrap(text: str, width: float, font_size: float) -> str:
  """Wraps a text to a width in inches, for a font size in points."""
  character = _CHARACTER_WIDTH * font_size / _POINTS_PER_INCH
  lines = textwrap.fill(text, max(int(width / character), 1))
  # Matplotlib reads text between two dollar signs as a formula.
  return lines.replace('$', r'\$')


def wrap_names(names: Sequence[str], width: float, font_size: float) -> Names:
  """Wraps names to a width in inches, for a font size in points."""
  texts = [wrap(name, width, font_size) for name in names]
  lines = [text.splitlines() or [''] for text in texts]
  longest = max(len(line) for each in lines for line in each)
  size = font_size / _POINTS_PER_INCH
  return Names(
    texts,
    length=longest * _CHARACTER_WIDTH * size,
    height=max(map(len, lines)) * _LINE_HEIGHT * size,
  )
