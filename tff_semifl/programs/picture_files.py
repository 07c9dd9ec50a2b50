# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pictures as files that a paper can have."""

from collections.abc import Sequence
import pathlib

import matplotlib
from matplotlib import figure

FORMATS = ('.png', '.pdf', '.svg')


def save(picture: figure.Figure, files: Sequence[str | pathlib.Path]) -> None:
  """Draws a picture into files.

  Args:
    picture: The picture.
    files: Where to; the end of each name, one of `FORMATS`, says as what.

  Raises:
    OSError: If a file cannot be written.
  """
  for file in map(pathlib.Path, files):
    file.parent.mkdir(parents=True, exist_ok=True)
    # Letters as TrueType: publishers refuse what Matplotlib embeds otherwise.
    with matplotlib.rc_context({'pdf.fonttype': 42}):
      picture.savefig(file, dpi=200)
