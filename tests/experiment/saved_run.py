# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The results of a run, for comparisons with another run."""

import csv
import pathlib
from typing import NamedTuple

from tff_semifl.experiment import checkpoints


class SavedRun(NamedTuple):
  """The results of a run, without times."""

  rows: list[dict[str, str]]
  arrays: dict[str, bytes]


def read_rows(folder: pathlib.Path) -> list[dict[str, str]]:
  """Reads the metrics of an experiment, without times."""
  with (folder / 'metrics.csv').open() as file:
    return [
      {name: cell for name, cell in row.items() if name != 'seconds'}
      for row in csv.DictReader(file)
    ]


def read(folder: pathlib.Path) -> SavedRun:
  """Reads the folder of an experiment."""
  arrays, _ = checkpoints.read_latest(folder / 'checkpoints')
  return SavedRun(
    read_rows(folder), {name: array.tobytes() for name, array in arrays.items()}
  )
