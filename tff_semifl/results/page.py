# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Building blocks of an HTML page that needs no other file and no network.

Functions escape their text, except arguments that are documented as HTML.
`report_template.html` has the style sheet, which supports light and dark mode
and fits phones: wide tables scroll.
"""

import base64
from collections.abc import Iterable, Sequence
import html
import io
import pathlib
import string

import matplotlib
from matplotlib import figure
import numpy as np
from PIL import Image

_FIGURE_STYLE = {
  # Text in SVG stays text instead of shapes, so that it can be searched and
  # read aloud.
  'svg.fonttype': 'none',
  # A fixed salt makes pages reproducible.
  'svg.hashsalt': 'tff_semifl',
}
# Lines longer than this are broken in cells.
_MAX_WHOLE = 40
# Larger images are scaled down to this size.
_MAX_SIDE = 160


def page(title: str, body: Iterable[str]) -> str:
  """A complete page; `body` is HTML."""
  template = pathlib.Path(__file__).with_name('report_template.html')
  return string.Template(template.read_text()).substitute(
    title=text(title), body=''.join(body)
  )


def text(content: object) -> str:
  """Escapes text for HTML."""
  return html.escape(str(content))


def heading(content: str) -> str:
  """A section heading."""
  return f'<h2>{text(content)}</h2>\n'


def paragraph(content: str, kind: str = '') -> str:
  """A paragraph; `kind` is a class of the style sheet."""
  return f'<p{_class(kind)}>{text(content)}</p>\n'


def warnings(lines: Iterable[str]) -> str:
  """A box of warnings about the numbers on a page."""
  rows = ''.join(f'<li>{text(line)}</li>\n' for line in lines)
  return box('note', f'<h3>What may mislead</h3>\n<ul>\n{rows}</ul>\n')


def box(kind: str, content: str) -> str:
  """A box of `content`, as HTML; `kind` is a class of the style sheet."""
  return f'<div class="{kind}">\n{content}</div>\n'


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
  """A table of text, which scrolls if it is wide."""
  head = ''.join(f'<th scope="col">{text(each)}</th>' for each in headings)
  body = ''.join(f'<tr>{"".join(map(_cell, row))}</tr>\n' for row in rows)
  return box(
    'scroll',
    f'<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>'
    '</table>\n',
  )


def details(summary: str, content: str, kind: str = '') -> str:
  """A collapsed section; `content` is HTML."""
  return (
    f'<details{_class(kind)}><summary>{text(summary)}</summary>\n{content}'
    '</details>\n'
  )


def draw(label: str, fig: figure.Figure) -> str:
  """A figure as SVG; screen readers read `label`."""
  file = io.StringIO()
  with matplotlib.rc_context(_FIGURE_STYLE):
    fig.savefig(
      file, format='svg', metadata={'Date': None}, bbox_inches='tight'
    )
  # Leaves out the XML prolog, which only separate files need.
  content = file.getvalue()
  svg = content[content.index('<svg') :]
  return f'<figure role="img" aria-label="{text(label)}">\n{svg}</figure>\n'


def show_image(image: np.ndarray, caption: str) -> str:
  """An image, uint8 [height, width, channels], with a caption."""
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
  return f' class="{kind}"' if kind else ''


def _cell(content: object) -> str:
  shown = str(content)
  # A long text may break anywhere; numbers stay whole.
  longest = max(map(len, shown.splitlines()), default=0)
  kind = 'wide' if longest > _MAX_WHOLE else ''
  return f'<td{_class(kind)}>{text(shown)}</td>'
