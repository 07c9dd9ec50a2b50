# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The columns and rows of `metrics.csv`."""

import collections
from collections.abc import Mapping
import contextlib
import csv
import io
import pathlib
from typing import Any, NamedTuple

import numpy as np
import tree

from tff_semifl.files import durable_files

# The float64 values of all rounds, by column.
Metrics = Mapping[str, np.ndarray]

# The column of the round.
KEY = 'round'
# A name in `ClientMetrics.own`.
HIGHEST_CONFIDENCE = 'highest_confidence'


class EvaluationMetrics(NamedTuple):
  """The global model's metrics on test or validation images after a round.

  `best_accuracy` is the highest accuracy up to this round.
  """

  accuracy: float
  loss: float
  best_accuracy: float


class ServerMetrics(NamedTuple):
  """Means over the server's training steps in a round; NaN without steps."""

  loss: float
  accuracy: float


class ClientMetrics(NamedTuple):
  """Metrics of a round's clients; docs/client_metrics.md explains each metric.

  NaN means not measured. `own` has further metrics of the system, by name.
  """

  loss: float
  accuracy: float
  label_ratio: float
  pseudo_accuracy: float
  threshold_accuracy: float
  micro_threshold_accuracy: float
  num_participating: float
  num_rejected: float
  num_dropped: float
  weight_diversity: float
  relative_weight_diversity: float
  own: Mapping[str, float] = collections.OrderedDict()


class RoundMetrics(NamedTuple):
  """A row of `metrics.csv`, in which field `b` of part `a` is column `a/b`.

  Users' scripts read these columns: never rename or reorder columns. NaN, which
  means not measured, is an empty cell.

  Attributes:
    test: Metrics on the test images; empty with a validation split.
    seconds: Time since the previous row, including the evaluation.
    aggregator: Measurements of the aggregator, if any; `epsilon` is the privacy
      loss up to this round.
    validation: Metrics on the validation split; empty without one.
    further: The metrics that the settings `metrics` and `keep_best` name, by
      column, such as `test/macro_f1`; these columns come last.
  """

  test: EvaluationMetrics | tuple[()]
  server: ServerMetrics
  client: ClientMetrics
  learning_rate: float
  seconds: float
  aggregator: Mapping[str, Any]
  validation: EvaluationMetrics | tuple[()] = ()
  further: Mapping[str, float] = collections.OrderedDict()

  @property
  def evaluation(self) -> EvaluationMetrics:
    """The metrics on the evaluated images: `test`, or else `validation`."""
    return self.test or self.validation


def by_column(metrics: Any) -> dict[str, float]:
  """Maps columns of `metrics.csv` to metrics; NaN if not measured.

  In other structures than `RoundMetrics`, a value's column is its path.
  """
  further = {}
  if isinstance(metrics, RoundMetrics):
    metrics, further = metrics._replace(further={}), metrics.further
  named = {
    '/'.join(map(str, path)): value
    for path, value in tree.flatten_with_path(metrics)
  }
  return {name: float(value) for name, value in {**named, **further}.items()}


def shortest(value: np.float32 | float) -> float:
  """The float that prints like a float32: 0.03, not 0.029999999329447746."""
  return float(str(value))


def read_rows(path: pathlib.Path) -> tuple[list[str], list[dict[str, str]]]:
  """Reads columns and rows; raises a ValueError if the table is damaged."""
  if not path.exists():
    return [KEY], []
  lines = io.StringIO(path.read_bytes().decode(), newline='')
  columns, *rows = [row for row in csv.reader(lines, strict=True) if row] or [
    [KEY]
  ]
  if len(set(columns)) < len(columns):
    raise ValueError('two columns have the same name')
  if KEY not in columns:
    raise ValueError(f'no column is named {KEY}')
  for row in rows:
    if len(row) != len(columns):
      raise ValueError(
        f'a row has {len(row)} cells, and {len(columns)} columns have names'
      )
    if int(row[columns.index(KEY)]) < 0:
      raise ValueError('a round is below 0')
  return columns, [dict(zip(columns, row, strict=True)) for row in rows]


class MetricsError(durable_files.OutputError):
  """A file is not a table of metrics, or lacks the requested metrics."""


def read_metrics(file: pathlib.Path) -> Metrics:
  """Reads a `metrics.csv`; columns that are not numeric are left out."""
  if not file.exists():
    raise MetricsError(f'cannot read {file}: it is not there')
  try:
    columns, rows = read_rows(file)
  except (OSError, ValueError, csv.Error) as error:
    raise MetricsError(f'{file} is no table of metrics: {error}') from error
  metrics = {}
  for name in columns:
    with contextlib.suppress(ValueError):
      metrics[name] = np.array([float(row[name] or 'nan') for row in rows])
  return metrics
