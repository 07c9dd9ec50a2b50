# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table of a sweep, with a row for each of its entries."""

from collections.abc import Mapping, Sequence
import csv
import io
import pathlib
import statistics
from typing import Generic, NamedTuple, TypeVar

from tff_semifl.experiments import markdown
from tff_semifl.programs import durable_files
from tff_semifl.programs import results as results_lib
from tff_semifl.sweeps import entries

_CAPTION = """\
Test accuracy after the last round, and the best of all rounds: mean of complete
runs (sample standard deviation). SemiFL's paper gives the best round, with the
population's standard deviation (D16). Minutes are a run's, on average."""


_Result = TypeVar('_Result')


class Row(NamedTuple, Generic[_Result]):
  """An entry with all its seeds.

  Attributes:
    entry: The entry.
    num_seeds: With how many seeds it is to be trained.
    complete: The results of the runs that are complete.
  """

  entry: entries.Entry
  num_seeds: int
  complete: Sequence[_Result]

  @property
  def seeds(self) -> str:
    """The number of its seeds, and of those that are complete."""
    if len(self.complete) < self.num_seeds:
      return f'{len(self.complete)} of {self.num_seeds}'
    return str(self.num_seeds)


def to_markdown(rows: Sequence[Row[results_lib.Results]]) -> str:
  """Returns the table with a line on what its numbers are.

  Args:
    rows: The rows.
  """
  return '\n\n'.join(
    [
      markdown.table(
        (
          'experiment',
          'seeds',
          'last accuracy',
          'best accuracy',
          'paper',
          'minutes',
        ),
        [_markdown_row(row) for row in rows],
      ),
      _CAPTION,
    ]
  )


def to_csv(rows: Sequence[Row[results_lib.Results]]) -> str:
  """Returns the table as CSV: fractions of one, minutes, counts.

  Args:
    rows: The rows.
  """
  return join_cells([_csv_row(row) for row in rows])


def join_cells(cells: Sequence[Mapping[str, object]]) -> str:
  """Returns rows, each with its cells by column, as CSV with a heading.

  Args:
    cells: The rows, at least one.
  """
  text = io.StringIO()
  writer = csv.DictWriter(text, cells[0].keys(), lineterminator='\n')
  writer.writeheader()
  writer.writerows(cells)
  return text.getvalue()


def write(text: str, path: pathlib.Path) -> None:
  """Writes a table, in place of what is there.

  Args:
    text: The table.
    path: Where to.

  Raises:
    durable_files.OutputError: If it cannot be written.
  """
  with durable_files.naming(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable_files.replacing(path) as file:
      file.write(text.encode())


def _markdown_row(row: Row[results_lib.Results]) -> tuple[str, ...]:
  paper = row.entry.paper
  return (
    row.entry.label,
    row.seeds,
    _show(*_mean_and_deviation([run.accuracy for run in row.complete])),
    _show(*_mean_and_deviation([run.best_accuracy for run in row.complete])),
    paper.text if paper else '',
    f'{_mean_minutes(row):.1f}' if row.complete else '',
  )


def _csv_row(row: Row[results_lib.Results]) -> dict[str, object]:
  accuracy = _mean_and_deviation([run.accuracy for run in row.complete])
  best = _mean_and_deviation([run.best_accuracy for run in row.complete])
  paper = row.entry.paper
  return {
    'name': row.entry.label,
    'system': row.entry.system_name,
    'source': row.entry.source,
    'seeds': row.num_seeds,
    'complete': len(row.complete),
    'accuracy_mean': accuracy[0],
    'accuracy_deviation': accuracy[1],
    'best_accuracy_mean': best[0],
    'best_accuracy_deviation': best[1],
    'paper_accuracy_mean': paper.mean if paper else None,
    'paper_accuracy_deviation': paper.deviation if paper else None,
    'minutes_mean': _mean_minutes(row),
  }


def _mean_minutes(row: Row[results_lib.Results]) -> float | None:
  if not row.complete:
    return None
  return statistics.fmean(run.minutes for run in row.complete)


def _mean_and_deviation(
  values: Sequence[float],
) -> tuple[float | None, float | None]:
  """Returns both, None where there are too few to say."""
  if not values:
    return None, None
  # Of a sample: a few seeds stand for all that there are.
  deviation = statistics.stdev(values) if len(values) > 1 else None
  return statistics.fmean(values), deviation


def _show(mean: float | None, deviation: float | None) -> str:
  if mean is None:
    return ''
  if deviation is None:
    return f'{mean:.1%}'
  return f'{mean:.1%} ({100 * deviation:.1f})'
