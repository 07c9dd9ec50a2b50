# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A figure of clients' accuracies."""

from collections.abc import Sequence

import matplotlib
from matplotlib import figure
from matplotlib import ticker

from tff_semifl.metrics import client_accuracy

_SIZE = (6.4, 3.6)


def create_figure(
  clients: Sequence[client_accuracy.ClientAccuracy], title: str
) -> figure.Figure:
  """Plots the accuracies of one or more clients, in increasing order.

  The area of a point is proportional to the client's number of images.
  """
  ordered = sorted(clients, key=lambda each: each.accuracy)
  spread = client_accuracy.summarize(clients)
  most = max(each.num_images for each in ordered)
  fig = figure.Figure(_SIZE, layout='constrained')
  axes = fig.add_subplot()
  line_color = matplotlib.rcParams['axes.edgecolor']
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
    axes.axhline(level, color=line_color, linewidth=1, linestyle=style)
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
