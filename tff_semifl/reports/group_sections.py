# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sections of a report on several runs: seeds, sweeps, comparisons."""

from collections.abc import Iterator, Sequence
import math
import statistics

import numpy as np

from tff_semifl.reports import groups as groups_lib
from tff_semifl.reports import measured
from tff_semifl.reports import page
from tff_semifl.reports import run_record
from tff_semifl.reports import run_sections
from tff_semifl.results import summary
from tff_semifl.runs import intervals

_SHOWN = {
  'accuracy': 'accuracy',
  'balanced_accuracy': 'balanced accuracy',
  'macro_f1': 'macro-F1',
  'nll': 'NLL',
  'ece': 'ECE',
}
_POINTS = ('accuracy', 'balanced_accuracy')
# The longest table of paired differences.
_MAX_PAIRS = 60


def create(groups: Sequence[groups_lib.Group]) -> Iterator[str]:
  """Yields all sections, HTML."""
  yield page.box(
    'note',
    page.heading('What may mislead', 3) + page.items(find_problems(groups)),
  )
  yield page.heading('Means')
  yield _means(groups)
  yield page.paragraph(
    'Mean ± standard deviation over runs, and 95% interval of the mean'
    " (Student's t) from two runs on. Of folds, whose training images overlap,"
    ' intervals are too narrow.',
    'quiet',
  )
  yield page.heading('Learning curves')
  yield run_sections.curves(
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


def find_problems(groups: Sequence[groups_lib.Group]) -> list[str]:
  """Limits of a comparison, as lines."""
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
      'Not all runs were evaluated on the same images: differences between'
      ' these are of the images, too.'
    )
  fewest = min(len(group.runs) for group in groups)
  if fewest < 3:
    lines.append(
      f'{fewest} run{"s" if fewest > 1 else ""} of a setting tell'
      f'{"" if fewest > 1 else "s"} little of how much seeds differ.'
    )
  for run in runs:
    choice = run.trained.choice
    if choice is not None and choice.is_by_test:
      lines.append(f'{run.name}: the test images chose its round.')
    total = run.hparams.flags.get('total_rounds')
    if total is not None and run.trained.last_round < total:
      lines.append(
        f'{run.name}: ended after round {run.trained.last_round} of {total}.'
      )
    if run.idle_rounds is not None:
      lines.append(f'{run.name}: {run.idle_rounds}.')
    if run.why_not_evaluated is not None:
      lines.append(f'{run.name}: not examined, {run.why_not_evaluated}.')
  notes = [note for run in runs for note in (*run.hparams.notes, *run.warnings)]
  return [*lines, *dict.fromkeys(notes)]


def _means(groups: Sequence[groups_lib.Group]) -> str:
  names = [name for name in _SHOWN if any(group.has(name) for group in groups)]
  return page.table(
    ['runs of', 'number', *(_SHOWN[name] for name in names)],
    [
      [
        group.name,
        str(len(group.runs)),
        *(_mean(name, group) if group.has(name) else '' for name in names),
      ]
      for group in groups
    ],
  )


def _mean(name: str, group: groups_lib.Group) -> str:
  values = [each[name] for each in group.values.values()]
  mean = summary.show(name, statistics.fmean(values))
  if len(values) == 1 or any(map(math.isnan, values)):
    return mean
  deviation = statistics.stdev(values)
  spread = f'{deviation:.2g}'
  if name in _POINTS:
    spread = f'{100 * deviation:.1f}'
  low, high = (summary.show(name, end) for end in intervals.of_mean(values))
  return f'{mean} ± {spread}\n{low} to {high}'


def _differences(groups: Sequence[groups_lib.Group]) -> Iterator[str]:
  """Yields the differences of all groups from the first, seed by seed."""
  first, *others = groups
  yield page.paragraph(
    f'Each minus {first.name}, in points of accuracies, over the seeds that'
    " both have. Intervals are Student's t of the paired differences."
  )
  names = [name for name in _SHOWN if all(group.has(name) for group in groups)]
  rows = []
  for group in others:
    common = [key for key in first.runs if key in group.runs]
    cells = [
      _paired_mean(
        name,
        [group.values[key][name] - first.values[key][name] for key in common],
      )
      for name in names
    ]
    rows.append([group.name, str(len(common)), *cells])
  yield page.table(
    ['runs of', 'pairs', *(_SHOWN[name] for name in names)], rows
  )
  pairs = [
    (group.name, key, first.runs[key], group.runs[key])
    for group in others
    for key in first.runs
    if key in group.runs
    and measured.is_comparable(first.runs[key], group.runs[key])
  ]
  if not pairs:
    return
  yield page.paragraph(
    'Each pair of runs on its own, with intervals that are about other images:'
    ' Agresti and Min (2005) of the accuracy, paired bootstrap of macro-F1.'
  )
  yield page.table(
    ['run', 'seed', 'accuracy', 'macro-F1'],
    [
      [
        name,
        ' '.join(str(each) for each in key if each is not None),
        *(
          _paired(metric, before, after) for metric in ('accuracy', 'macro_f1')
        ),
      ]
      for name, key, before, after in pairs[:_MAX_PAIRS]
    ],
  )


def _paired_mean(name: str, differences: Sequence[float]) -> str:
  if not differences or any(map(math.isnan, differences)):
    return ''
  shown = _signed(name, statistics.fmean(differences))
  if len(differences) == 1:
    return shown
  low, high = (_signed(name, end) for end in intervals.of_mean(differences))
  return f'{shown}\n{low} to {high}'


def _paired(
  name: str, before: run_record.RunRecord, after: run_record.RunRecord
) -> str:
  difference = measured.compute(after)[name] - measured.compute(before)[name]
  found = measured.interval_of_difference(name, before, after)
  if found is None:
    return _signed(name, difference)
  low, high = (_signed(name, end) for end in found)
  return f'{_signed(name, difference)} ({low} to {high})'


def _signed(name: str, difference: float) -> str:
  if name in _POINTS:
    return f'{100 * difference:+.1f}'
  return f'{difference:+.3f}'


def _runs(groups: Sequence[groups_lib.Group]) -> str:
  rows = []
  for group in groups:
    for key, run in group.runs.items():
      values = group.values[key]
      accuracy = summary.show('accuracy', values['accuracy'])
      if run.evaluated is not None:
        scores = run.evaluated.scores
        accuracy = intervals.show(
          round(scores.accuracy * scores.num_images), scores.num_images
        )
      rows.append(
        [
          run.name,
          str(run.trained.round_num),
          accuracy,
          *(
            summary.show(name, values.get(name, math.nan))
            for name in list(_SHOWN)[1:]
          ),
          f'{float(np.nansum(run.metrics["seconds"])) / 60:.1f}'
          if 'seconds' in run.metrics
          else '',
        ]
      )
  return page.table(
    [
      'run',
      'round',
      'accuracy (95% interval)',
      *list(_SHOWN.values())[1:],
      'minutes',
    ],
    rows,
  )
