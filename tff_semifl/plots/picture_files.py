# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Saving of pictures in file formats for publications."""

from collections.abc import Sequence
import pathlib

import matplotlib
from matplotlib import figure


def save(picture: figure.Figure, files: Sequence[str | pathlib.Path]) -> None:
  """Saves a picture to files.

  Args:
    picture: The picture.
    files: Paths of the files. Each must end in .png, .pdf or .svg, which
      determines its format.

  Raises:
    OSError: If a file cannot be written.
  """
  for file in map(pathlib.Path, files):
    file.parent.mkdir(parents=True, exist_ok=True)
    # TrueType fonts: publishers reject the type that Matplotlib embeds by
    # default.
    with matplotlib.rc_context({'pdf.fonttype': 42}):
      picture.savefig(file, dpi=200)
