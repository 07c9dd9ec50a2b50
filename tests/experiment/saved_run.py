# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The results of a run, to be compared with those of another."""

import csv
import pathlib
from typing import NamedTuple

from tff_semifl.experiment import checkpoints


class SavedRun(NamedTuple):
  """The results of a run, without times."""

  rows: list[dict[str, str]]
  arrays: dict[str, bytes]


def read(folder: pathlib.Path) -> SavedRun:
  """Reads the folder of an experiment."""
  with (folder / 'metrics.csv').open() as file:
    rows = list(csv.DictReader(file))
  for row in rows:
    del row['seconds']
  arrays, _ = checkpoints.read_latest(folder / 'checkpoints')
  return SavedRun(
    rows, {name: array.tobytes() for name, array in arrays.items()}
  )
