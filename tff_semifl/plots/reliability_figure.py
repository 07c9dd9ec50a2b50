# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A reliability diagram: the share that is right, by confidence.

References:
  Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML
  2017, figure 1.
"""

import matplotlib
from matplotlib import figure
from matplotlib import ticker
import numpy as np

_SIZE = (4.2, 4.2)


def create_figure(bins: np.ndarray, title: str) -> figure.Figure:
  """Creates the figure: accuracy by confidence, and how many images have it.

  Args:
    bins: float64 [bins, 3], as `scores.Scores` has them: for equal parts of
      0..1 the number of images, of those that are right, and the sum of their
      confidences.
  """
  line_color = matplotlib.rcParams['axes.edgecolor']
  fig = figure.Figure(_SIZE, layout='constrained')
  upper, lower = fig.subplots(
    nrows=2, sharex=True, height_ratios=[3, 1], squeeze=True
  )
  width = 1 / len(bins)
  sizes, right, confidence = bins.T
  has_images = sizes > 0
  starts = np.arange(len(bins)) * width
  upper.bar(
    starts[has_images],
    (right / np.maximum(sizes, 1))[has_images],
    width,
    align='edge',
    alpha=0.6,
    edgecolor=line_color,
    linewidth=0.5,
  )
  upper.plot([0, 1], [0, 1], color=line_color, linestyle=':', linewidth=1)
  upper.plot(
    (confidence / np.maximum(sizes, 1))[has_images],
    (right / np.maximum(sizes, 1))[has_images],
    marker='o',
    markersize=4,
    linestyle='none',
    color='#d55e00',
  )
  upper.set_title(title)
  upper.set_ylabel('accuracy')
  upper.set_ylim(0, 1.02)
  upper.yaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.bar(starts, sizes, width, align='edge', alpha=0.6)
  lower.set_xlim(0, 1)
  lower.set_xlabel('confidence; points: mean of a bar')
  lower.set_ylabel('images')
  lower.xaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.yaxis.set_major_locator(ticker.MaxNLocator(3, integer=True))
  return fig
