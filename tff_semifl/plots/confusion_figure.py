# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A figure of a confusion matrix."""

from collections.abc import Sequence

from matplotlib import colors
from matplotlib import figure
from matplotlib import ticker
import numpy as np

from tff_semifl.plots import figure_text

_TITLE_SIZE = 12
_MAX_NAME_INCHES = 3.0
# With more classes, numbers in cells would be too small to read.
_MAX_CLASSES_WITH_NUMBERS = 30


def create_figure(
  confusion: np.ndarray, class_names: Sequence[str], title: str
) -> figure.Figure:
  """A figure with a row per true class and a column per predicted class.

  A cell is the darker, the larger its fraction of the row's images; white means
  none. The scale is the square root of the fraction, as most mistakes are rare.
  With up to 30 classes cells show their numbers of images, except 0.

  Args:
    confusion: int [num_classes, num_classes], numbers of images by true class
      (row) and predicted class (column).
  """
  num_classes = len(class_names)
  sizes = confusion.sum(axis=1, keepdims=True)
  shares = confusion / np.maximum(sizes, 1)
  # In inches, enough for a line of text for each class.
  side = float(np.clip(1.2 + 0.38 * num_classes, 4, 14.5))
  font_size = float(np.clip(45 * side / num_classes, 5.5, 9))
  names = figure_text.wrap_names(class_names, _MAX_NAME_INCHES, font_size)
  title = figure_text.wrap(title, side, _TITLE_SIZE)
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
