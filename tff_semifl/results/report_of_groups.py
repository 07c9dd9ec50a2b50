# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sections of a report on several runs: seeds, sweeps, comparisons."""

from collections.abc import Iterator, Mapping, Sequence
import itertools
import json
import re
from typing import NamedTuple

import numpy as np

from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import run_settings
from tff_semifl.metrics import intervals
from tff_semifl.results import learning_curves
from tff_semifl.results import page
from tff_semifl.results import run_facts
from tff_semifl.results import run_record
from tff_semifl.results import summary

_IN_NAMES = re.compile(r'_?seed\d+')
_SHOWN = {
  'accuracy': 'accuracy',
  'balanced_accuracy': 'balanced accuracy',
  'macro_f1': 'macro-F1',
  'nll': 'NLL',
  'ece': 'ECE',
}
_LOSSES = (
  learning_curves.Panel('test/loss', 'Test loss', '', 1.0),
  learning_curves.Panel('validation/loss', 'Validation loss', '', 1.0),
)


class Group(NamedTuple):
  """Runs that differ only in the seed, and their metrics; keyed by seed."""

  name: str
  runs: Mapping[object, run_record.RunRecord]
  values: Mapping[object, Mapping[str, float]]

  def has(self, metric: str) -> bool:
    """Whether all runs have a metric."""
    return all(metric in each for each in self.values.values())


def find_groups(runs: Sequence[run_record.RunRecord]) -> list[Group]:
  """Groups runs that differ only in the seed, in order of their first run.

  Runs with equal settings and seed are in different groups.
  """
  by_settings: dict[tuple[str, int], dict[object, run_record.RunRecord]] = {}
  for run in runs:
    flags = run.hparams.flags
    rest = {
      name: value
      for name, value in flags.items()
      if name != 'seed' and name not in run_settings.UNIMPORTANT
    }
    settings = json.dumps([run.hparams.system, rest], sort_keys=True)
    key = flags.get('seed')
    for number in itertools.count():
      members = by_settings.setdefault((settings, number), {})
      if key not in members:
        members[key] = run
        break
  groups, taken = [], set()
  for members in by_settings.values():
    first = next(iter(members.values())).name
    name = _IN_NAMES.sub('', first).strip('_') or first
    if name in taken:
      name = first
    taken.add(name)
    values = {key: run.measure() for key, run in members.items()}
    groups.append(Group(name, members, values))
  return groups


def create(groups: Sequence[Group]) -> Iterator[str]:
  """Yields all sections on several runs, as HTML."""
  yield page.warnings(find_problems(groups))
  yield page.heading('Means')
  yield _means(groups)
  yield page.paragraph(
    'Mean ± standard deviation over runs, and 95% interval of the mean'
    " (Student's t) from two runs on.",
    'quiet',
  )
  yield page.heading('Learning curves')
  yield curves(
    {
      group.name: [run.metrics for run in group.runs.values()]
      for group in groups
    }
  )
  if len(groups) > 1:
    yield page.heading('Differences')
    yield from _differences(groups)
  yield page.heading('Runs')
  yield _runs(groups)


def curves(experiments: learning_curves.Experiments) -> str:
  """Learning curves of experiments, as HTML; omits figures without data."""
  drawn = []
  for panel in (*learning_curves.LEARNING_CURVES, *_LOSSES):
    try:
      fig = learning_curves.create_figure(experiments, [panel], '')
    except metrics_table.MetricsError:
      continue
    # A single panel may be wider than panels side by side.
    fig.set_size_inches(3.6, fig.get_figheight() + 0.3)
    drawn.append(page.draw(f'{panel.title} by round', fig))
  return page.box('figures', ''.join(drawn))


def find_problems(groups: Sequence[Group]) -> list[str]:
  """Warnings about a comparison of runs."""
  runs = [run for group in groups for run in group.runs.values()]
  lines = []
  kinds = {run.kind for run in runs}
  if len(groups) > 1 and kinds == {'test'}:
    lines.append(
      f'The best of {len(groups)} on the same test images looks better than it'
      ' is: choose on validation images, or on other seeds.'
    )
  if len(kinds) > 1:
    lines.append('Some runs were tested, and others validated.')
  digests = {run.evaluated.digest for run in runs if run.evaluated is not None}
  if len(digests) > 1:
    lines.append(
      'Not all runs were evaluated on the same images, which also makes them'
      ' differ.'
    )
  fewest = min(len(group.runs) for group in groups)
  if fewest < 3:
    lines.append(
      f'A setting has {fewest} run{"s" if fewest > 1 else ""}, too few to tell'
      ' how much seeds differ.'
    )
  for run in runs:
    for line in run_facts.describe_training(run.hparams, run.trained):
      lines.append(f'{run.name}: {line}')
    if run.why_not_evaluated is not None:
      lines.append(f'{run.name}: not examined, {run.why_not_evaluated}.')
  notes = [note for run in runs for note in (*run.hparams.notes, *run.warnings)]
  return [*lines, *dict.fromkeys(notes)]


def _means(groups: Sequence[Group]) -> str:
  names = [name for name in _SHOWN if any(group.has(name) for group in groups)]
  rows = []
  for group in groups:
    cells = []
    for name in names:
      values = [each.get(name) for each in group.values.values()]
      found = summary.summarize(values if group.has(name) else ())
      interval = summary.show_interval(name, found.interval)
      cells.append(f'{summary.show_mean(name, found)}\n{interval}'.strip())
    rows.append([group.name, len(group.runs), *cells])
  headings = ['runs of', 'number', *(_SHOWN[name] for name in names)]
  return page.table(headings, rows)


def _differences(groups: Sequence[Group]) -> Iterator[str]:
  """Yields the paired differences between each group and the first, as HTML."""
  first, *others = groups
  yield page.paragraph(
    f'Each minus {first.name}, in points of accuracies, over the seeds that'
    " both have. Intervals are Student's t of the paired differences."
  )
  names = [name for name in _SHOWN if all(group.has(name) for group in groups)]
  rows = []
  for group in others:
    common = [key for key in first.runs if key in group.runs]
    cells = []
    for name in names:
      found = summary.compare(
        [group.values[key][name] for key in common],
        [first.values[key][name] for key in common],
      )
      cells.append(summary.show_difference(name, found))
    rows.append([group.name, len(common), *cells])
  headings = ['runs of', 'pairs', *(_SHOWN[name] for name in names)]
  yield page.table(headings, rows)


def _runs(groups: Sequence[Group]) -> str:
  rows = []
  for group in groups:
    for key, run in group.runs.items():
      accuracy, *others = (
        summary.show(name, group.values[key].get(name)) for name in _SHOWN
      )
      if run.evaluated is not None:
        scores = run.evaluated.scores
        accuracy = intervals.show(
          round(scores.accuracy * scores.num_images), scores.num_images
        )
      minutes = ''
      if 'seconds' in run.metrics:
        minutes = f'{float(np.nansum(run.metrics["seconds"])) / 60:.1f}'
      rows.append([run.name, run.trained.round_num, accuracy, *others, minutes])
  _, *others = _SHOWN.values()
  headings = ['run', 'round', 'accuracy (95% interval)', *others, 'minutes']
  return page.table(headings, rows)
