# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Saving of figures in file formats for publications."""

from collections.abc import Sequence
import pathlib

import matplotlib
from matplotlib import figure


def save(fig: figure.Figure, files: Sequence[str | pathlib.Path]) -> None:
  """Saves a figure to .png, .pdf or .svg files; creates their folders."""
  for file in map(pathlib.Path, files):
    file.parent.mkdir(parents=True, exist_ok=True)
    # TrueType: publishers reject Matplotlib's default font type.
    with matplotlib.rc_context({'pdf.fonttype': 42}):
      fig.savefig(file, dpi=200)
