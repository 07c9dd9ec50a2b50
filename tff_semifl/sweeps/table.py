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
from tff_semifl.files import durable_files
from tff_semifl.runs import intervals
from tff_semifl.runs import results as results_lib
from tff_semifl.sweeps import entries

_CAPTION = """\
Test accuracy after the last round, and the best of all rounds, which the test
images chose: mean of complete runs (sample standard deviation). Differences are
those of the last accuracy to the first row with the same task, in points: mean
of paired differences over the seeds that both have (standard error). A single
seed has neither; what its test images leave open is in log.txt of the run.
SemiFL's paper gives the best round, with the population's standard deviation
(D16). Minutes are a run's, on average."""


_Result = TypeVar('_Result')


class Row(NamedTuple, Generic[_Result]):
  """An entry with all its seeds.

  Attributes:
    entry: The entry.
    results: The result with each seed, in the same order in all rows; None of a
      run that is not complete.
    task: What is learned: test images are the same where it is.
  """

  entry: entries.Entry
  results: Sequence[_Result | None]
  task: str = ''

  @property
  def num_seeds(self) -> int:
    """With how many seeds it is to be trained."""
    return len(self.results)

  @property
  def complete(self) -> list[_Result]:
    """The results of the runs that are complete."""
    return [each for each in self.results if each is not None]

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
          'difference',
          'paper',
          'minutes',
        ),
        [_markdown_row(row, rows) for row in rows],
      ),
      _CAPTION,
    ]
  )


def to_csv(rows: Sequence[Row[results_lib.Results]]) -> str:
  """Returns the table as CSV: fractions of one, minutes, counts.

  Args:
    rows: The rows.
  """
  return join_cells([_csv_row(row, rows) for row in rows])


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


def pair(
  row: Row[_Result], other: Row[_Result], name: str
) -> tuple[float | None, float | None]:
  """Returns the mean of paired differences, and its standard error.

  Args:
    row: A row.
    other: The row that is subtracted.
    name: Of the number that differs, in the results.

  Returns:
    Both, over the seeds with which both rows are complete; None where there are
    too few to say.
  """
  differences = [
    getattr(one, name) - getattr(two, name)
    for one, two in zip(row.results, other.results, strict=True)
    if one is not None and two is not None
  ]
  if not differences:
    return None, None
  mean = statistics.fmean(differences)
  if len(differences) == 1:
    return mean, None
  return mean, intervals.standard_error(differences)


def _difference(
  row: Row[results_lib.Results], rows: Sequence[Row[results_lib.Results]]
) -> tuple[float | None, float | None]:
  """Returns the paired difference to the first row with the same task."""
  first = next(other for other in rows if other.task == row.task)
  return (None, None) if first is row else pair(row, first, 'accuracy')


def _markdown_row(
  row: Row[results_lib.Results], rows: Sequence[Row[results_lib.Results]]
) -> tuple[str, ...]:
  paper = row.entry.paper
  difference, error = _difference(row, rows)
  shown = '' if difference is None else f'{100 * difference:+.1f}'
  if error is not None:
    shown += f' ({100 * error:.1f})'
  return (
    row.entry.label,
    row.seeds,
    _show(*_mean_and_deviation([run.accuracy for run in row.complete])),
    _show(*_mean_and_deviation([run.best_accuracy for run in row.complete])),
    shown,
    paper.text if paper else '',
    f'{_mean_minutes(row):.1f}' if row.complete else '',
  )


def _csv_row(
  row: Row[results_lib.Results], rows: Sequence[Row[results_lib.Results]]
) -> dict[str, object]:
  accuracy = _mean_and_deviation([run.accuracy for run in row.complete])
  best = _mean_and_deviation([run.best_accuracy for run in row.complete])
  paper = row.entry.paper
  difference, error = _difference(row, rows)
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
    'difference_mean': difference,
    'difference_standard_error': error,
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
