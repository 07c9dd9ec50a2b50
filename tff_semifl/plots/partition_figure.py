# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A figure of the clients' numbers of images by class."""

from collections.abc import Sequence

from matplotlib import colors
from matplotlib import figure
from matplotlib import ticker
import numpy as np

from tff_semifl.plots import figure_text

_TITLE_SIZE = 12
_MAX_NAME_INCHES = 3.0
_NAME_SIZE = 9


def create_figure(
  counts: np.ndarray, class_names: Sequence[str], title: str
) -> figure.Figure:
  """A figure with a column per client and a row per class.

  A cell is the darker, the more images; white means none. The scale is the
  square root of the number, as in a Dirichlet partition a few clients have most
  images of a class.

  Args:
    counts: [num_clients, num_classes], numbers of images.
  """
  num_clients, num_classes = counts.shape
  names = figure_text.wrap_names(class_names, _MAX_NAME_INCHES, _NAME_SIZE)
  # In inches, enough for all names.
  width = float(np.clip(2 + 0.08 * num_clients, 5.5, 13))
  height = max(1.6 + names.height * num_classes, 3.5)
  title = figure_text.wrap(title, width, _TITLE_SIZE)
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
