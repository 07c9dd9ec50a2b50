# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The table of a sweep, with a row for each entry."""

from collections.abc import Collection, Sequence
import math
import shlex
from typing import NamedTuple

from tff_semifl.experiment import metrics_table
from tff_semifl.results import markdown
from tff_semifl.results import summary

_CAPTION = """\
Test accuracy after the last round, and the best of all rounds, chosen on test
images: mean of complete runs ± sample standard deviation. Differences compare
the last accuracy with that of the first row of the same task, in points: mean
over the seeds of both (95% interval). A single seed has neither; log.txt of the
run has the interval over test images. SemiFL's paper reports the best round,
with the population's standard deviation. Minutes are a run's mean. At clients,
accuracies of the exported model are on images of each client, as it is and with
the client's own class shares."""
# Fields of `metrics_table.Results`, where images at clients are measured.
_AT_CLIENTS = {
  'client_mean': 'mean of clients',
  'client_worst_tenth': 'worst tenth of clients',
  'own_mean': 'own shares, mean',
  'own_worst_tenth': 'own shares, worst tenth',
}
_VALIDATION_CAPTION = """\
Loss and accuracy on validation images after the last round: mean of complete
runs ± sample standard deviation. These images are held out of the server's
labeled ones; nothing was tested."""


class Entry(NamedTuple):
  """Settings that are trained with each seed.

  `kind` is 'flagfile' or 'preset', and `source` the name of the file or preset.
  `paper` is a paper's accuracy: text, mean and deviation. `varied` is the name
  and the value of a setting that overrides the source; None without.
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


class Row(NamedTuple):
  """An entry with the result of each seed; None for an incomplete run.

  All rows have the same order of seeds. Rows of the same `task` have the same
  test images.
  """

  entry: Entry
  results: Sequence[metrics_table.Results | metrics_table.Validation | None]
  task: str = ''

  def column(self, name: str) -> list[float | None]:
    """One field of all results; None for an incomplete run."""
    return [each and getattr(each, name) for each in self.results]

  @property
  def num_complete(self) -> int:
    """The number of complete runs."""
    return sum(each is not None for each in self.results)

  @property
  def seeds(self) -> str:
    """The number of runs as text, such as '2 of 3' if some are incomplete."""
    total = len(self.results)
    if self.num_complete < total:
      return f'{self.num_complete} of {total}'
    return str(total)


def tabulate(rows: Sequence[Row]) -> tuple[str, list[dict[str, object]]]:
  """The table in Markdown, and the numbers for a CSV file."""
  shown, numbers = [], []
  at_clients = [
    name
    for name in _AT_CLIENTS
    if any(value is not None for row in rows for value in row.column(name))
  ]
  for row in rows:
    first = next(other for other in rows if other.task == row.task)
    last = summary.summarize(row.column('accuracy'))
    gain = summary.Summary()
    if first is not row:
      gain = summary.compare(row.column('accuracy'), first.column('accuracy'))
    best = summary.summarize(row.column('best_accuracy'))
    minutes = summary.summarize(row.column('minutes')).mean
    of_clients = {
      name: summary.summarize(row.column(name)) for name in at_clients
    }
    text, paper, spread = row.entry.paper or ('', None, None)
    shown.append(
      (
        row.entry.label,
        row.seeds,
        summary.show_mean('accuracy', last),
        summary.show_mean('accuracy', best),
        summary.show_difference('accuracy', gain),
        text,
        '' if minutes is None else f'{minutes:.1f}',
        *(summary.show_mean('accuracy', each) for each in of_clients.values()),
      )
    )
    numbers.append(
      {
        **_identity(row),
        'accuracy_mean': last.mean,
        'accuracy_deviation': last.deviation,
        'best_accuracy_mean': best.mean,
        'best_accuracy_deviation': best.deviation,
        'paper_accuracy_mean': paper,
        'paper_accuracy_deviation': spread,
        'minutes_mean': minutes,
        'difference_mean': gain.mean,
        'difference_standard_error': gain.error,
        **{name: each.mean for name, each in of_clients.items()},
      }
    )
  heading = (
    *('experiment', 'seeds', 'last accuracy', 'best accuracy', 'difference'),
    *('paper', 'minutes'),
    *(_AT_CLIENTS[name] for name in at_clients),
  )
  return f'{markdown.table(heading, shown)}\n\n{_CAPTION}', numbers


def tabulate_validation(
  rows: Sequence[Row],
) -> tuple[str, list[dict[str, object]]]:
  """The table of validation runs in Markdown, and numbers for a CSV file."""
  shown, numbers = [], []
  for row in rows:
    loss, accuracy, minutes = (
      summary.summarize(row.column(name))
      for name in metrics_table.Validation._fields
    )
    setting, value = row.entry.varied or (None, None)
    shown.append(
      (
        row.entry.label,
        row.seeds,
        summary.show_mean('loss', loss),
        summary.show_mean('accuracy', accuracy),
        '' if minutes.mean is None else f'{minutes.mean:.1f}',
      )
    )
    numbers.append(
      {
        **_identity(row, setting=setting, value=value),
        'validation_loss_mean': loss.mean,
        'validation_accuracy_mean': accuracy.mean,
        'minutes_mean': minutes.mean,
      }
    )
  heading = (
    *('experiment', 'seeds', 'validation loss', 'validation accuracy'),
    'minutes',
  )
  return f'{markdown.table(heading, shown)}\n\n{_VALIDATION_CAPTION}', numbers


def describe_choices(
  rows: Sequence[Row],
  program: str,
  arguments: Sequence[str],
  failed: Collection[str] = (),
) -> list[str]:
  """Lines on the value of the varied setting with the least validation loss.

  With few validation images accuracies are often equal, but losses differ.
  `program` is the training command, `arguments` are the command's flags except
  the validation split, and `failed` names entries with a failed run.
  """
  by_entry = {}
  for row in rows:
    if row.entry.varied is not None:
      by_entry.setdefault(row.entry.name, []).append(row)
  lines = []
  for name, group in by_entry.items():
    left = [
      row.entry.label
      for row in group
      if row.num_complete < len(row.results) and row.entry.label not in failed
    ]
    best, *others = sorted(group, key=_loss)
    if left:
      lines.append(f'{name}: no choice before {", ".join(left)} is complete')
    elif math.isinf(_loss(best)):
      lines.append(f'{name}: no choice, as no value has a finite loss')
    else:
      command = [*program.split(), best.entry.system_name]
      setting, value = best.entry.varied
      flags = [*best.entry.arguments, *arguments, f'--{setting}={value}']
      lines += [
        f'{name}: the least validation loss, {_loss(best):.4f}, is that of'
        f' {setting}={value}{_margin(best, others)}; with all labels:',
        f'  {shlex.join([*command, *flags])}',
      ]
      if best in (group[0], group[-1]) and others:
        lines.append('  It is the first or last value: try more beyond it.')
  return lines


def _margin(best: Row, others: Sequence[Row]) -> str:
  """How much less the loss is than that of the second best value."""
  if not others or math.isinf(_loss(others[0])):
    return ''
  found = summary.compare(others[0].column('loss'), best.column('loss'))
  _, value = others[0].entry.varied
  margin = f', {found.mean:.4f} less than that of {value}'
  if found.error is not None:
    margin += f' (standard error {found.error:.4f})'
  return margin


def _loss(row: Row) -> float:
  """The mean loss; infinity if not finite, or if a run is incomplete."""
  if row.num_complete < len(row.results):
    return math.inf
  loss = summary.summarize(row.column('loss')).mean
  return loss if loss is not None and math.isfinite(loss) else math.inf


def _identity(row: Row, **others: object) -> dict[str, object]:
  return {
    'name': row.entry.label,
    'system': row.entry.system_name,
    'source': row.entry.source,
    **others,
    'seeds': len(row.results),
    'complete': row.num_complete,
  }
