# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Figures of results, with wrapped text, and files for publications.

Darker cells of a matrix have more images; white means none. The scale is the
square root of the number, as most errors are rare, and in a Dirichlet partition
a few clients have most images of a class.
"""

from collections.abc import Sequence
import pathlib
import textwrap
from typing import NamedTuple

import matplotlib
from matplotlib import colors
from matplotlib import figure
from matplotlib import ticker
import numpy as np

from tff_semifl.metrics import client_accuracy

# Mean width of a character and height of a line, relative to the size of
# Matplotlib's font. Capitals are wider.
_CHARACTER_WIDTH = 0.62
_LINE_HEIGHT = 1.4
_POINTS_PER_INCH = 72
# Sizes of fonts in points.
_TITLE_SIZE = 12
_NAME_SIZE = 9
_MAX_NAME_INCHES = 3.0
# With more classes, numbers in cells would be too small to read.
_MAX_CLASSES_WITH_NUMBERS = 30
_CLIENTS_SIZE = (6.4, 3.6)
_LINE_COLOR = 'black'


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


def create_confusion(
  confusion: np.ndarray, class_names: Sequence[str], title: str
) -> figure.Figure:
  """Plots a confusion matrix.

  `confusion`, int [num_classes, num_classes], has numbers of images by true
  class (row) and predicted class (column). Colors show fractions of rows. With
  up to 30 classes, cells show their numbers of images, except 0.
  """
  num_classes = len(class_names)
  sizes = confusion.sum(axis=1, keepdims=True)
  shares = confusion / np.maximum(sizes, 1)
  # In inches, enough for a line of text for each class.
  side = float(np.clip(1.2 + 0.38 * num_classes, 4, 14.5))
  font_size = float(np.clip(45 * side / num_classes, 5.5, _NAME_SIZE))
  names = wrap_names(class_names, _MAX_NAME_INCHES, font_size)
  title = wrap(title, side, _TITLE_SIZE)
  fig = figure.Figure(
    (
      side + names.length + 1.6,
      side + names.length + 0.7 + 0.2 * title.count('\n'),
    ),
    # Constrained layout would cut off labels beside square cells.
    layout='compressed',
  )
  axes = fig.add_subplot()
  mesh = axes.imshow(
    shares,
    cmap='Blues',
    norm=colors.PowerNorm(0.5, vmin=0, vmax=1),
    interpolation='nearest',
  )
  axes.set_title(title, fontsize=_TITLE_SIZE)
  axes.set_xlabel('taken for')
  axes.set_ylabel('class')
  ticks = range(num_classes)
  axes.set_xticks(ticks, names.texts, fontsize=font_size, rotation=90)
  axes.set_yticks(ticks, names.texts, fontsize=font_size)
  if num_classes <= _MAX_CLASSES_WITH_NUMBERS:
    for row, column in np.argwhere(confusion):
      axes.text(
        column,
        row,
        str(confusion[row, column]),
        color='white' if shares[row, column] > 0.3 else 'black',
        fontsize=font_size,
        horizontalalignment='center',
        verticalalignment='center',
      )
  fig.colorbar(
    mesh,
    label="share of the class's images",
    format=ticker.PercentFormatter(1),
    fraction=0.04,
  )
  return fig


def create_partition(
  counts: np.ndarray, class_names: Sequence[str], title: str
) -> figure.Figure:
  """Plots a partition, with a column per client and a row per class.

  `counts`, [num_clients, num_classes], are numbers of images.
  """
  num_clients, num_classes = counts.shape
  names = wrap_names(class_names, _MAX_NAME_INCHES, _NAME_SIZE)
  # In inches, enough for all names.
  width = float(np.clip(2 + 0.08 * num_clients, 5.5, 13))
  height = max(1.6 + names.height * num_classes, 3.5)
  title = wrap(title, width, _TITLE_SIZE)
  fig = figure.Figure(
    (width + names.length + 0.6, height + 0.2 * title.count('\n')),
    layout='constrained',
  )
  axes = fig.add_subplot()
  mesh = axes.imshow(
    counts.T,
    cmap='Blues',
    norm=colors.PowerNorm(0.5, vmin=0, vmax=counts.max()),
    aspect='auto',
    interpolation='nearest',
  )
  axes.set_title(title, fontsize=_TITLE_SIZE)
  axes.set_xlabel('client')
  axes.xaxis.set_major_locator(ticker.MaxNLocator(20, integer=True))
  axes.set_ylabel('class')
  axes.set_yticks(range(num_classes), names.texts, fontsize=_NAME_SIZE)
  fig.colorbar(
    mesh, label='images', ticks=ticker.MaxNLocator('auto', integer=True)
  )
  return fig


def create_client_accuracies(
  clients: Sequence[client_accuracy.ClientAccuracy], title: str
) -> figure.Figure:
  """Plots the accuracies of one or more clients, in increasing order.

  The area of a point is proportional to the client's number of images.
  """
  ordered = sorted(clients, key=lambda each: each.accuracy)
  spread = client_accuracy.summarize(clients)
  most = max(each.num_images for each in ordered)
  fig = figure.Figure(_CLIENTS_SIZE, layout='constrained')
  axes = fig.add_subplot()
  axes.scatter(
    range(1, len(ordered) + 1),
    [each.accuracy for each in ordered],
    [4 + 60 * each.num_images / most for each in ordered],
    alpha=0.7,
  )
  for name, level, style in (
    ('mean', spread.mean, '-'),
    ('worst tenth', spread.worst_tenth, ':'),
  ):
    axes.axhline(level, color=_LINE_COLOR, linewidth=1, linestyle=style)
    axes.annotate(
      f'{name} {level:.1%}',
      (1, level),
      xycoords=axes.get_yaxis_transform(),
      xytext=(-4, 3),
      textcoords='offset points',
      horizontalalignment='right',
    )
  axes.set_title(title)
  axes.set_xlabel('clients, from the worst; area: images with labels')
  axes.set_ylabel('accuracy')
  axes.set_ylim(-0.02, 1.05)
  axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
  axes.yaxis.set_major_formatter(ticker.PercentFormatter(1))
  return fig


def create_reliability_diagram(bins: np.ndarray) -> figure.Figure:
  """Plots accuracy and number of images by confidence.

  `bins` is float64 [bins, 3], see `scores.Scores`.
  """
  fig = figure.Figure((4.2, 4.2), layout='constrained')
  upper, lower = fig.subplots(nrows=2, sharex=True, height_ratios=[3, 1])
  width = 1 / len(bins)
  starts = np.arange(len(bins)) * width
  lower.bar(starts, bins[:, 0], width, align='edge', alpha=0.6)
  has_images = bins[:, 0] > 0
  sizes, right, confidence = bins[has_images].T
  upper.bar(
    starts[has_images],
    right / sizes,
    width,
    align='edge',
    alpha=0.6,
    edgecolor=_LINE_COLOR,
    linewidth=0.5,
  )
  upper.plot([0, 1], [0, 1], color=_LINE_COLOR, linestyle=':', linewidth=1)
  upper.plot(confidence / sizes, right / sizes, 'o', color='#d55e00', ms=4)
  upper.set_title('Reliability diagram')
  upper.set_ylabel('accuracy')
  upper.set_ylim(0, 1.02)
  upper.yaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.set_xlim(0, 1)
  lower.set_xlabel('confidence; points: mean of a bar')
  lower.set_ylabel('images')
  lower.xaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.yaxis.set_major_locator(ticker.MaxNLocator(3, integer=True))
  return fig
