# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Figures of results, and image files for publications.

In a matrix, darker cells have more images, and white cells none. Colors follow
the square root of the number, to show rare errors, and clients that have few
images of a class.
"""

from collections.abc import Sequence
import pathlib
import textwrap

import matplotlib
from matplotlib import colors
from matplotlib import figure
from matplotlib import ticker
import numpy as np

from tff_semifl.metrics import client_accuracy

# Font size of names in points, and their maximum line length in characters.
_NAME_SIZE = 9
_NAME_LENGTH = 40
# Height of a line of names, in inches.
_LINE = 0.17
# With more classes, numbers in cells would be too small to read.
_MAX_CLASSES_WITH_NUMBERS = 30
_CLIENTS_SIZE = (6.4, 3.6)
_LINE_COLOR = 'black'


def wrap(text: str, num_characters: int = _NAME_LENGTH) -> str:
  """Wraps a text for a figure."""
  lines = textwrap.fill(text, num_characters)
  # Matplotlib reads text between two dollar signs as a formula.
  return lines.replace('$', r'\$')


def save(fig: figure.Figure, files: Sequence[str | pathlib.Path]) -> None:
  """Saves a figure to .png, .pdf or .svg files; creates their folders."""
  for file in map(pathlib.Path, files):
    file.parent.mkdir(parents=True, exist_ok=True)
    # TrueType: publishers reject Matplotlib's default font type.
    with matplotlib.rc_context({'pdf.fonttype': 42}):
      # 'tight' enlarges the figure to include text outside of it.
      fig.savefig(file, dpi=200, bbox_inches='tight')


def create_confusion(
  confusion: np.ndarray, class_names: Sequence[str], title: str
) -> figure.Figure:
  """Plots a confusion matrix.

  `confusion`, int [num_classes, num_classes], has numbers of images by true
  class (row) and predicted class (column). Colors show shares of a row. With up
  to 30 classes, cells other than 0 also show the number.
  """
  num_classes = len(class_names)
  sizes = confusion.sum(axis=1, keepdims=True)
  shares = confusion / np.maximum(sizes, 1)
  # In inches, enough for a line of text for each class.
  side = float(np.clip(1.2 + 0.38 * num_classes, 4, 14.5))
  font_size = float(np.clip(45 * side / num_classes, 5.5, _NAME_SIZE))
  names = [*map(wrap, class_names)]
  fig = figure.Figure((1.3 * side, 1.3 * side))
  axes = fig.add_subplot()
  mesh = axes.imshow(
    shares,
    cmap='Blues',
    norm=colors.PowerNorm(0.5, vmin=0, vmax=1),
    interpolation='nearest',
  )
  axes.set_title(wrap(title))
  axes.set_xlabel('taken for')
  axes.set_ylabel('class')
  ticks = range(num_classes)
  axes.set_xticks(ticks, names, fontsize=font_size, rotation=90)
  axes.set_yticks(ticks, names, fontsize=font_size)
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
  names = [*map(wrap, class_names)]
  num_lines = max(name.count('\n') + 1 for name in names)
  width = float(np.clip(2 + 0.08 * num_clients, 5.5, 13))
  height = max(1.6 + _LINE * num_lines * num_classes, 3.5)
  fig = figure.Figure((width, height))
  axes = fig.add_subplot()
  mesh = axes.imshow(
    counts.T,
    cmap='Blues',
    norm=colors.PowerNorm(0.5, vmin=0, vmax=counts.max()),
    aspect='auto',
    interpolation='nearest',
  )
  axes.set_title(wrap(title, 60))
  axes.set_xlabel('client')
  axes.xaxis.set_major_locator(ticker.MaxNLocator(12, integer=True))
  axes.set_ylabel('class')
  axes.set_yticks(range(num_classes), names, fontsize=_NAME_SIZE)
  fig.colorbar(
    mesh, label='images', ticks=ticker.MaxNLocator('auto', integer=True)
  )
  return fig


def create_client_accuracies(
  clients: Sequence[client_accuracy.ClientAccuracy],
  adapted: Sequence[client_accuracy.ClientAccuracy] = (),
  *,
  title: str,
) -> figure.Figure:
  """Plots the accuracies of one or more clients, in increasing order.

  The area of a point grows with the client's number of images. `adapted` has
  the accuracies with each client's class shares, in the order of `clients`;
  crosses show them.
  """
  order = sorted(range(len(clients)), key=lambda i: clients[i].accuracy)
  ordered = [clients[i] for i in order]
  spread = client_accuracy.summarize(clients)
  most = max(each.num_images for each in ordered)
  fig = figure.Figure(_CLIENTS_SIZE, layout='constrained')
  axes = fig.add_subplot()
  axes.scatter(
    range(1, len(ordered) + 1),
    [each.accuracy for each in ordered],
    [4 + 60 * each.num_images / most for each in ordered],
    alpha=0.7,
    label='global model',
  )
  levels = [
    ('mean', spread.mean, '-'),
    ('worst tenth', spread.worst_tenth, ':'),
  ]
  if adapted:
    axes.plot(
      range(1, len(ordered) + 1),
      [adapted[i].accuracy for i in order],
      'x',
      color='#d55e00',
      label="with each client's class shares",
    )
    axes.legend(loc='lower right')
    mean = client_accuracy.summarize(adapted).mean
    levels.append(('adapted: mean', mean, '--'))
  for name, level, style in levels:
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
