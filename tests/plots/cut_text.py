# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures text that Matplotlib's figures cut off."""

from matplotlib import figure


def measure(fig: figure.Figure) -> float:
  """Returns by how many inches anything reaches out of the figure, or 0."""
  fig.draw_without_rendering()
  box = fig.get_tightbbox()
  width, height = fig.get_size_inches()
  return max(-box.x0, -box.y0, box.x1 - width, box.y1 - height, 0.0)
