# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The results of a sweep's runs, and the table that compares settings."""

from collections.abc import Sequence
import math
import pathlib
import shlex
from typing import NamedTuple

from tff_semifl.experiment import metrics_table
from tff_semifl.results import markdown
from tff_semifl.results import summary

_CAPTION = """\
Loss and accuracy on {kind} images after the last round, and the best accuracy
of all rounds: mean of complete runs ± sample standard deviation. Differences
compare the last accuracy with that of the first row of the same task, in
points: mean over the seeds of both (95% interval). SemiFL's paper reports the
best round, with the population's standard deviation. Minutes are those of a
run."""


class Entry(NamedTuple):
  """A flagfile or preset that is trained with each seed.

  `kind` is 'flagfile' or 'preset', and `source` the name of the file or preset.
  `paper` is an accuracy that a paper reports: text, mean, standard deviation.
  `varied` is a name and value that override a setting of the source, or None.
  """

  name: str
  system_name: str
  kind: str
  source: str
  paper: tuple[str, float, float | None] | None = None
  varied: tuple[str, str] | None = None

  @property
  def arguments(self) -> list[str]:
    """The flag that names the source."""
    return [f'--{self.kind}={self.source}']

  @property
  def label(self) -> str:
    """The name, with the varied setting."""
    return self.name + ('_' + ''.join(self.varied) if self.varied else '')


class Results(NamedTuple):
  """The latest results of a run; round -1 and zeros before any round.

  Accuracies and `loss`, the mean cross-entropy, are for the test images or the
  validation split. `minutes` counts all rounds, even those before an interrupt.
  """

  round_num: int = -1
  accuracy: float = 0.0
  best_accuracy: float = 0.0
  loss: float = 0.0
  minutes: float = 0.0


def read_results(path: pathlib.Path) -> Results:
  """Reads the results in a `metrics.csv`."""
  metrics = metrics_table.read_metrics(path) if path.exists() else {'round': ()}
  if not len(metrics['round']):
    return Results()
  kind = 'validation' if 'validation/accuracy' in metrics else 'test'
  columns = [f'{kind}/{name}' for name in ('accuracy', 'best_accuracy', 'loss')]
  for column in (*columns, 'seconds'):
    if column not in metrics:
      raise metrics_table.MetricsError(f'{path} has no column {column}')
  return Results(
    int(metrics['round'][-1]),
    *(float(metrics[column][-1]) for column in columns),
    float(metrics['seconds'].sum()) / 60,
  )


class Row(NamedTuple):
  """An entry, and the result of each seed; None for an incomplete run.

  All rows have the same order of seeds. Rows of the same `task` have the same
  test images.
  """

  entry: Entry
  results: Sequence[Results | None]
  task: str = ''

  def column(self, name: str) -> list[float | None]:
    """A field of all results; None for an incomplete run."""
    return [each and getattr(each, name) for each in self.results]

  @property
  def num_complete(self) -> int:
    """The number of complete runs."""
    return sum(each is not None for each in self.results)

  @property
  def loss(self) -> float:
    """The mean loss; infinity if not finite, or if a run is incomplete."""
    if self.num_complete < len(self.results):
      return math.inf
    loss = summary.summarize(self.column('loss')).mean
    return loss if loss is not None and math.isfinite(loss) else math.inf


def tabulate(
  rows: Sequence[Row], kind: str
) -> tuple[str, list[dict[str, object]]]:
  """The table in Markdown, and the numbers for a CSV file.

  `kind` says which images were evaluated: 'test' or 'validation'.
  """
  shown, numbers = [], []
  for row in rows:
    first = next(other for other in rows if other.task == row.task)
    accuracy, best, loss, minutes = (
      summary.summarize(row.column(name))
      for name in ('accuracy', 'best_accuracy', 'loss', 'minutes')
    )
    gain = summary.Summary()
    if first is not row:
      gain = summary.compare(row.column('accuracy'), first.column('accuracy'))
    text, paper, spread = row.entry.paper or ('', None, None)
    seeds, complete = len(row.results), row.num_complete
    shown.append(
      (
        row.entry.label,
        f'{complete} of {seeds}' if complete < seeds else str(seeds),
        summary.show_mean('loss', loss),
        summary.show_mean('accuracy', accuracy),
        summary.show_mean('accuracy', best),
        summary.show_difference('accuracy', gain),
        text,
        '' if minutes.mean is None else f'{minutes.mean:.1f}',
      )
    )
    setting, value = row.entry.varied or (None, None)
    numbers.append(
      {
        'name': row.entry.label,
        'system': row.entry.system_name,
        'source': row.entry.source,
        'setting': setting,
        'value': value,
        'seeds': seeds,
        'complete': complete,
        'loss_mean': loss.mean,
        'accuracy_mean': accuracy.mean,
        'accuracy_deviation': accuracy.deviation,
        'best_accuracy_mean': best.mean,
        'best_accuracy_deviation': best.deviation,
        'paper_accuracy_mean': paper,
        'paper_accuracy_deviation': spread,
        'minutes_mean': minutes.mean,
        'difference_mean': gain.mean,
        'difference_standard_error': gain.error,
      }
    )
  heading = (
    *('experiment', 'seeds', f'{kind} loss', 'last accuracy', 'best accuracy'),
    *('difference', 'paper', 'minutes'),
  )
  table = markdown.table(heading, shown)
  return f'{table}\n\n{_CAPTION.format(kind=kind)}', numbers


def describe_choices(
  rows: Sequence[Row], program: str, arguments: Sequence[str]
) -> list[str]:
  """Lines that name the varied setting's value with the least validation loss.

  Losses decide, because accuracies on few validation images are often equal.
  `program` is the training command, and `arguments` are its flags, except the
  flag of the validation split.
  """
  by_entry = {}
  for row in rows:
    if row.entry.varied is not None:
      by_entry.setdefault(row.entry.name, []).append(row)
  lines = []
  for name, group in by_entry.items():
    best = min(group, key=lambda row: row.loss)
    if math.isinf(best.loss):
      lines.append(f'{name}: no choice, as no value has a finite loss')
      continue
    command = [*program.split(), best.entry.system_name]
    setting, value = best.entry.varied
    flags = [*best.entry.arguments, *arguments, f'--{setting}={value}']
    lines += [
      f'{name}: the least validation loss, {best.loss:.4f}, is that of'
      f' {setting}={value}; with all labels:',
      f'  {shlex.join([*command, *flags])}',
    ]
    if best in (group[0], group[-1]) and len(group) > 1:
      lines.append('  It is the first or last value: try more beyond it.')
  return lines
