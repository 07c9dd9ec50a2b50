# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Figures of matrices: the confusion matrix, and the partition by class.

Darker cells have more images; white means none. The scale is the square root of
the number, as most errors are rare, and in a Dirichlet partition a few clients
have most images of a class.
"""

from collections.abc import Sequence

from matplotlib import colors
from matplotlib import figure
from matplotlib import ticker
import numpy as np

from tff_semifl.plots import figures

_TITLE_SIZE = 12
_NAME_SIZE = 9
_MAX_NAME_INCHES = 3.0
# With more classes, numbers in cells would be too small to read.
_MAX_CLASSES_WITH_NUMBERS = 30


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
  names = figures.wrap_names(class_names, _MAX_NAME_INCHES, font_size)
  title = figures.wrap(title, side, _TITLE_SIZE)
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
  names = figures.wrap_names(class_names, _MAX_NAME_INCHES, _NAME_SIZE)
  # In inches, enough for all names.
  width = float(np.clip(2 + 0.08 * num_clients, 5.5, 13))
  height = max(1.6 + names.height * num_classes, 3.5)
  title = figures.wrap(title, width, _TITLE_SIZE)
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
