# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Helpers for figures: wrapped text, and files for publications."""

from collections.abc import Sequence
import pathlib
import textwrap
from typing import NamedTuple

import matplotlib
from matplotlib import figure

# Mean width of a character and height of a line, relative to the size of
# Matplotlib's font. Capitals are wider.
_CHARACTER_WIDTH = 0.62
_LINE_HEIGHT = 1.4
_POINTS_PER_INCH = 72


class Names(NamedTuple):
  """Wrapped names along an axis or in a legend.

  `length` is the length of the longest line, and `height` the height of the
  name with the most lines, both in inches.
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


def save(fig: figure.Figure, files: Sequence[str | pathlib.Path]) -> None:
  """Saves a figure to .png, .pdf or .svg files; creates their folders."""
  for file in map(pathlib.Path, files):
    file.parent.mkdir(parents=True, exist_ok=True)
    # TrueType: publishers reject Matplotlib's default font type.
    with matplotlib.rc_context({'pdf.fonttype': 42}):
      fig.savefig(file, dpi=200)
