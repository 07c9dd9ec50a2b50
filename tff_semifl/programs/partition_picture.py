# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A picture of the clients' numbers of images by class."""

from collections.abc import Sequence

from matplotlib import colors
from matplotlib import figure
from matplotlib import ticker
import numpy as np


def create_figure(
  counts: np.ndarray, class_names: Sequence[str], title: str
) -> figure.Figure:
  """Creates the picture: a column for each client, a row for each class.

  The darker a cell, the more images; white means none. Only the lightness
  varies, which suits any color vision and print. The scale is the square root
  of the number, because with a Dirichlet partition a few clients have most
  images of a class.

  Args:
    counts: int [num_clients, num_classes], numbers of images.
    class_names: A name for each class.
    title: Title of the picture.

  Returns:
    The figure.
  """
  num_clients, num_classes = counts.shape
  # In inches, enough for a line of text for each class, within limits.
  size = (
    float(np.clip(3 + 0.08 * num_clients, 7, 14)),
    float(np.clip(1.6 + 0.17 * num_classes, 3.5, 20)),
  )
  picture = figure.Figure(size, layout='constrained')
  axes = picture.add_subplot()
  mesh = axes.imshow(
    counts.T,
    cmap='Blues',
    norm=colors.PowerNorm(0.5, vmin=0, vmax=counts.max()),
    aspect='auto',
    interpolation='nearest',
  )
  axes.set_title(title)
  axes.set_xlabel('client')
  axes.xaxis.set_major_locator(ticker.MaxNLocator(20, integer=True))
  axes.set_ylabel('class')
  axes.set_yticks(range(num_classes), class_names, fontsize=9)
  picture.colorbar(mesh, label='images')
  return picture
