# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table of a sweep, with a row for each entry."""

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
Test accuracy after the last round, and the best of all rounds, chosen on test
images: mean of complete runs (sample standard deviation). Differences compare
the last accuracy with that of the first row of the same task, in points: mean
over the seeds of both (standard error). A single seed has neither; log.txt of
the run has the interval over test images. SemiFL's paper reports the best
round, with the population's standard deviation. Minutes are a run's mean."""


_Result = TypeVar('_Result')


class Row(NamedTuple, Generic[_Result]):
  """An entry with all its seeds.

  Attributes:
    entry: The entry.
    results: The result with each seed, in the same order in all rows; None for
      an incomplete run.
    task: The task; equal tasks have equal test images.
  """

  entry: entries.Entry
  results: Sequence[_Result | None]
  task: str = ''

  @property
  def num_seeds(self) -> int:
    """The number of seeds, trained or not."""
    return len(self.results)

  @property
  def complete(self) -> list[_Result]:
    """The results of the complete runs."""
    return [each for each in self.results if each is not None]

  @property
  def seeds(self) -> str:
    """The number of complete runs, and of seeds if these are more."""
    if len(self.complete) < self.num_seeds:
      return f'{len(self.complete)} of {self.num_seeds}'
    return str(self.num_seeds)


def to_markdown(rows: Sequence[Row[results_lib.Results]]) -> str:
  """The Markdown table, with a caption."""
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
  """The table as CSV: fractions of one, minutes, counts."""
  return join_cells([_csv_row(row, rows) for row in rows])


def join_cells(cells: Sequence[Mapping[str, object]]) -> str:
  """Rows as CSV with a heading."""
  text = io.StringIO()
  writer = csv.DictWriter(text, cells[0].keys(), lineterminator='\n')
  writer.writeheader()
  writer.writerows(cells)
  return text.getvalue()


def write(text: str, path: pathlib.Path) -> None:
  """Writes a table, replacing the file."""
  with durable_files.naming(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable_files.replacing(path) as file:
      file.write(text.encode())


def pair(
  row: Row[_Result], other: Row[_Result], name: str
) -> tuple[float | None, float | None]:
  """The mean of paired differences, and its standard error.

  Returns:
    Both, over the seeds that are complete in both rows; None where there are
    too few.
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
  """The paired difference to the first row with the same task."""
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
  if not values:
    return None, None
  # The sample deviation: the seeds are a sample of all seeds.
  deviation = statistics.stdev(values) if len(values) > 1 else None
  return statistics.fmean(values), deviation


def _show(mean: float | None, deviation: float | None) -> str:
  if mean is None:
    return ''
  if deviation is None:
    return f'{mean:.1%}'
  return f'{mean:.1%} ({100 * deviation:.1f})'
