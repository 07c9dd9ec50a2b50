# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table of a sweep that validates, and the value it chooses.

The criterion is the validation loss after the last round, averaged over seeds.
Few labels leave few validation images, so several values often tie in accuracy;
the loss still separates them.
"""

from collections.abc import Collection, Sequence
import math
import shlex
import statistics

from tff_semifl.experiments import markdown
from tff_semifl.runs import results as results_lib
from tff_semifl.sweeps import table

_CAPTION = """\
Loss and accuracy on validation images after the last round: mean of complete
runs (sample standard deviation). These images are held out of the server's
labeled ones; nothing was tested."""

Row = table.Row[results_lib.Validation]


def to_markdown(rows: Sequence[Row]) -> str:
  """The Markdown table, with a caption."""
  heading = (
    *('experiment', 'seeds', 'validation loss', 'validation accuracy'),
    'minutes',
  )
  return '\n\n'.join(
    [markdown.table(heading, [_markdown_row(row) for row in rows]), _CAPTION]
  )


def to_csv(rows: Sequence[Row]) -> str:
  """The table as CSV: fractions of one, minutes, counts."""
  return table.join_cells([_csv_row(row) for row in rows])


def describe_choices(
  rows: Sequence[Row],
  program: str,
  arguments: Sequence[str],
  failed: Collection[str] = (),
) -> list[str]:
  """Lines that name the best value of the varied setting.

  The value with the least loss is chosen among those without a failed run.
  Entries without a varied setting get no line.

  Args:
    arguments: Flags of all runs, without that of the validation split.
    failed: Names of entries with a failed run, which is not repeated.
  """
  by_entry = {}
  for row in rows:
    if row.entry.varied is not None:
      by_entry.setdefault(row.entry.name, []).append(row)
  return [
    line
    for group in by_entry.values()
    for line in _describe_choice(group, program, arguments, failed)
  ]


def _describe_choice(
  rows: Sequence[Row],
  program: str,
  arguments: Sequence[str],
  failed: Collection[str],
) -> list[str]:
  entry = rows[0].entry
  left = [
    row.entry.label
    for row in rows
    if len(row.complete) < row.num_seeds and row.entry.label not in failed
  ]
  if left:
    return [f'{entry.name}: no choice before {", ".join(left)} is complete']
  best = min(rows, key=_loss)
  if math.isinf(_loss(best)):
    return [f'{entry.name}: no choice, as no value has a finite loss']
  varied = best.entry.varied
  lines = [
    f'{entry.name}: the least validation loss, {_loss(best):.4f}, is that of'
    f' {varied.name}={varied.value}{_compare(best, rows)}; with all labels:',
    '  '
    + shlex.join(
      [
        *program.split(),
        entry.system_name,
        *entry.arguments,
        *arguments,
        varied.flag,
      ]
    ),
  ]
  if best in (rows[0], rows[-1]) and len(rows) > 1:
    lines.append('  It is the first or last value: try more beyond it.')
  return lines


def _compare(best: Row, rows: Sequence[Row]) -> str:
  """The margin of the best value over the second best, if there is one."""
  others = [
    row for row in rows if row is not best and math.isfinite(_loss(row))
  ]
  if not others:
    return ''
  following = min(others, key=_loss)
  difference, error = table.pair(following, best, 'loss')
  text = f', {difference:.4f} less than that of {following.entry.varied.value}'
  if error is None:
    return text
  return f'{text} (standard error {error:.4f})'


def _loss(row: Row) -> float:
  """The mean loss; infinite if it is not finite or a run is missing."""
  if len(row.complete) < row.num_seeds:
    return math.inf
  loss = statistics.fmean(run.loss for run in row.complete)
  return loss if math.isfinite(loss) else math.inf


def _markdown_row(row: Row) -> tuple[str, ...]:
  if not row.complete:
    return row.entry.label, row.seeds, '', '', ''
  losses = [run.loss for run in row.complete]
  accuracies = [run.accuracy for run in row.complete]
  loss = f'{statistics.fmean(losses):.4f}'
  accuracy = f'{statistics.fmean(accuracies):.1%}'
  if len(row.complete) > 1:
    loss += f' ({statistics.stdev(losses):.4f})'
    accuracy += f' ({100 * statistics.stdev(accuracies):.1f})'
  minutes = statistics.fmean(run.minutes for run in row.complete)
  return row.entry.label, row.seeds, loss, accuracy, f'{minutes:.1f}'


def _csv_row(row: Row) -> dict[str, object]:
  means = dict.fromkeys(results_lib.Validation._fields)
  if row.complete:
    means = {
      name: statistics.fmean(getattr(run, name) for run in row.complete)
      for name in means
    }
  varied = row.entry.varied
  return {
    'name': row.entry.label,
    'system': row.entry.system_name,
    'source': row.entry.source,
    'setting': varied and varied.name,
    'value': varied and varied.value,
    'seeds': row.num_seeds,
    'complete': len(row.complete),
    'validation_loss_mean': means['loss'],
    'validation_accuracy_mean': means['accuracy'],
    'minutes_mean': means['minutes'],
  }
