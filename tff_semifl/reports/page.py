# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Building blocks of a page of HTML that needs no other file and no network.

Functions take plain text, which they escape, except where they say HTML. The
page follows the reader's choice of light or dark, and fits a phone: tables that
are wider scroll by themselves.
"""

import base64
from collections.abc import Iterable, Sequence
import contextlib
import html
import io

import matplotlib
from matplotlib import figure
import numpy as np
from PIL import Image

# Figures have this color where the text color of the page is meant.
_TEXT_COLOR = '#010203'
# The first curve's is too dark on a dark page.
_CURVE = '#0072b2'
_FIGURE_STYLE = {
  **dict.fromkeys(
    (
      'text.color',
      'axes.edgecolor',
      'axes.labelcolor',
      'axes.titlecolor',
      'xtick.color',
      'ytick.color',
      'legend.labelcolor',
    ),
    _TEXT_COLOR,
  ),
  **dict.fromkeys(
    ('figure.facecolor', 'axes.facecolor', 'savefig.facecolor'), 'none'
  ),
  'grid.color': '#808080',
  'legend.framealpha': 0.0,
  # Text stays text, which can be searched and read aloud.
  'svg.fonttype': 'none',
  # Equal runs make equal pages.
  'svg.hashsalt': 'tff_semifl',
}
# Characters of a cell that is not broken into lines.
_MAX_WHOLE = 40
# Larger images are scaled down to this size.
_MAX_SIDE = 160
_STYLE = """\
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24;
  --quiet: #59636e; --line: #d1d9e0; --card: #f6f8fa; --link: #0b5cad;
  --warn: #fff8e1; --warn-line: #bf8700; --curve: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0f1419; --text: #e6e9ec; --quiet: #9aa5b1; --line: #323b45;
    --card: #171d24; --link: #79b8ff; --warn: #2b2412; --warn-line: #d4a72c;
    --curve: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--back);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
a { color: var(--link); }
p, ul { margin: .5rem 0; } ul { padding-left: 1.25rem; }
.lead { font-size: 1.15rem; } .quiet { color: var(--quiet); }
.note { background: var(--warn); border-left: 4px solid var(--warn-line);
  padding: .25rem 1rem; margin: 1rem 0; }
.scroll { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left;
  vertical-align: top; border-bottom: 1px solid var(--line);
  white-space: pre; }
th { color: var(--quiet); font-weight: 600; }
td:first-child, td.wide { white-space: normal; min-width: 6.5rem; }
td.wide { min-width: 12rem; }
.figures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); }
figure { margin: 0; }
svg { width: 100%; height: auto; display: block; }
.large svg { min-width: 26rem; max-width: 42rem; }
.gallery { display: grid; gap: .75rem;
  grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr)); }
.gallery img { width: 100%; max-width: 8rem; height: auto; display: block;
  border: 1px solid var(--line); image-rendering: pixelated; }
figcaption { font-size: .85rem; line-height: 1.3; color: var(--quiet); }
summary { cursor: pointer; padding: .25rem 0; font-weight: 600; }
details.run { border: 1px solid var(--line); border-radius: 6px;
  padding: .25rem 1rem; margin: .75rem 0; }
pre { background: var(--card); border: 1px solid var(--line); padding: .75rem;
  white-space: pre-wrap; font-size: .85rem; }
"""


def page(title: str, body: Iterable[str]) -> str:
  """Returns a page."""
  return (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    # The page loads nothing, whatever a name in it may contain.
    '<meta http-equiv="Content-Security-Policy" content="default-src'
    " 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
    f'<title>{text(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n'
    f'<body>\n{"".join(body)}</body>\n</html>\n'
  )


def text(content: object) -> str:
  """Returns text as HTML."""
  return html.escape(str(content))


def heading(content: str, level: int = 2, anchor: str | None = None) -> str:
  """Returns a heading."""
  name = f' id="{text(anchor)}"' if anchor else ''
  return f'<h{level}{name}>{text(content)}</h{level}>\n'


def paragraph(content: str, kind: str = '') -> str:
  """Returns a paragraph; `kind` is a class of the style sheet."""
  return f'<p{_class(kind)}>{text(content)}</p>\n'


def items(lines: Iterable[str]) -> str:
  """A list of texts, or nothing without texts."""
  rows = ''.join(f'<li>{text(line)}</li>\n' for line in lines)
  return f'<ul>\n{rows}</ul>\n' if rows else ''


def box(kind: str, content: str) -> str:
  """Returns HTML in a box; `kind` is a class of the style sheet."""
  return f'<div{_class(kind)}>\n{content}</div>\n'


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
  """A table of texts, which scrolls if it is wide."""
  head = ''.join(f'<th scope="col">{text(each)}</th>' for each in headings)
  body = ''.join(
    f'<tr>{"".join(_cell(cell) for cell in row)}</tr>\n' for row in rows
  )
  return box(
    'scroll',
    f'<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>'
    '</table>\n',
  )


def details(summary: str, content: str, kind: str = '') -> str:
  """Returns HTML that is shown on demand, under a line of text."""
  return (
    f'<details{_class(kind)}><summary>{text(summary)}</summary>\n{content}'
    '</details>\n'
  )


def draw(fig: figure.Figure, label: str) -> str:
  """A figure as SVG for the page.

  Args:
    label: What it shows, for who cannot see it.
  """
  file = io.StringIO()
  with figure_style():
    fig.savefig(file, format='svg', metadata={'Date': None})
  # Leaves out the XML prolog, which belongs to a separate file.
  content = file.getvalue()
  svg = content[content.index('<svg') :]
  svg = svg.replace(_TEXT_COLOR, 'currentColor').replace(_CURVE, 'var(--curve)')
  return f'<figure role="img" aria-label="{text(label)}">\n{svg}</figure>\n'


def figure_style() -> contextlib.AbstractContextManager[None]:
  """Returns a context in which figures are drawn in colors of the page."""
  return matplotlib.rc_context(_FIGURE_STYLE)


def show_image(image: np.ndarray, caption: str) -> str:
  """Returns an image with a caption.

  Args:
    image: uint8 [height, width, channels], gray or in color.
  """
  pixels = image[..., 0] if image.shape[-1] == 1 else image
  small = Image.fromarray(pixels)
  small.thumbnail((_MAX_SIDE, _MAX_SIDE))
  file = io.BytesIO()
  small.save(file, format='PNG', optimize=True)
  data = base64.b64encode(file.getvalue()).decode()
  return (
    f'<figure><img alt="" src="data:image/png;base64,{data}"'
    f' width="{small.width}" height="{small.height}">'
    f'<figcaption>{text(caption)}</figcaption></figure>\n'
  )


def _class(kind: str) -> str:
  return f' class="{text(kind)}"' if kind else ''


def _cell(content: object) -> str:
  shown = str(content)
  # A long text may break anywhere; numbers stay whole.
  longest = max(map(len, shown.splitlines()), default=0)
  kind = 'wide' if longest > _MAX_WHOLE else ''
  return f'<td{_class(kind)}>{text(shown)}</td>'
