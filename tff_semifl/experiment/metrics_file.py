# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures the pseudo-labels of a round, and writes the metrics of rounds."""

from collections.abc import Sequence
import csv
import io
import math
import pathlib

import numpy as np
import tensorflow_federated as tff

from tff_semifl.core import pseudo_labels
from tff_semifl.experiment import metrics_table
from tff_semifl.files import durable_files


def measure_pseudo_labels(
  given_labels: Sequence[pseudo_labels.GivenLabels],
  true_labels: Sequence[np.ndarray],
) -> dict[str, float]:
  """The float32 accuracies of a round's pseudo-labels in `ClientMetrics`.

  `true_labels` are int32 [images of the client], for each client of the cohort.
  """
  is_right = np.concatenate(
    [
      np.zeros(0, bool),
      *(
        truth[given.image] == given.label
        for given, truth in zip(given_labels, true_labels, strict=True)
      ),
    ]
  )
  share = np.concatenate([np.zeros(0), *(each.share for each in given_labels)])
  means = {
    'pseudo_accuracy': is_right,
    'threshold_accuracy': is_right * share,
    'micro_threshold_accuracy': is_right[share > 0],
  }
  return {
    name: np.float32(values.mean()) if len(values) else math.nan
    for name, values in means.items()
  }


class MetricsFile(tff.program.ReleaseManager):
  """A CSV file with a row for each evaluated round; new columns come last."""

  def __init__(self, path: pathlib.Path):
    """Reads the table; an OutputError if it is damaged or not writable."""
    self._path = path
    with durable_files.naming(path):
      try:
        self._columns, self._rows = metrics_table.read_rows(path)
      except (csv.Error, ValueError) as error:
        raise durable_files.OutputError(
          f'{path} is damaged: {error}; put a good copy in its place, or remove'
          ' it, and the table begins with the next round'
        ) from error
      self._write()

  async def release(
    self, value: tff.program.ReleasableStructure, key: int
  ) -> None:
    """Writes a round's row, and removes rows of this and later rounds.

    The row is on the disk when this returns. NaN becomes an empty cell.
    """
    values = {metrics_table.KEY: key, **metrics_table.by_column(value)}
    with durable_files.naming(self._path):
      self._columns = [*dict.fromkeys([*self._columns, *values])]
      self._rows = [
        row for row in self._rows if int(row[metrics_table.KEY]) < key
      ]
      self._rows.append(
        {k: '' if math.isnan(v) else str(v) for k, v in values.items()}
      )
      self._write()

  def _write(self) -> None:
    table = io.StringIO()
    writer = csv.DictWriter(table, self._columns, lineterminator='\n')
    writer.writeheader()
    writer.writerows(self._rows)
    with durable_files.replacing(self._path) as file:
      file.write(table.getvalue().encode())
