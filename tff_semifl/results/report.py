# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A report on one or more runs: a single HTML file that needs no network."""

from collections.abc import Iterator, Sequence
import contextlib
import pathlib
import shlex

import numpy as np
import tqdm

import tff_semifl
from tff_semifl import settings
from tff_semifl.experiment import client_results
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import restored_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.files import durable_files
from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.plots import figures
from tff_semifl.results import page
from tff_semifl.results import report_of_groups
from tff_semifl.results import run_facts
from tff_semifl.results import run_record
from tff_semifl.results import summary

# Further runs appear only in tables, so that the report of a sweep stays small.
_MAX_IN_FULL = 8
# With more logits, 500 bootstrap samples take minutes.
_MAX_BOOTSTRAPPED = 500_000
# More classes are in a collapsed table.
_SHOWN_CLASSES = 25
# With more classes, a matrix is too fine for a page.
_MAX_CONFUSION = 100
# With fewer images, one image changes the accuracy by over half a point.
_FEW_IMAGES = 200


def find_runs(folders: Sequence[pathlib.Path]) -> list[pathlib.Path]:
  """The experiments among the folders, or directly inside the folders."""
  found = []
  for folder in folders:
    inside = [each.parent for each in folder.glob(f'*/{hparams_file.NAME}')]
    if inside and not (folder / hparams_file.NAME).exists():
      found.extend(sorted(inside))
      continue
    with _naming(folder):
      # Raises an error that says why the folder is not an experiment.
      saved_experiment.read_hparams(folder)
    found.append(folder)
  return list(dict.fromkeys(found))


def write(path: pathlib.Path, folders: Sequence[pathlib.Path]) -> None:
  """Writes a report on experiments; replaces an existing file."""
  runs = []
  for folder in tqdm.tqdm(
    folders, 'examining runs', disable=None if len(folders) > 1 else True
  ):
    with _naming(folder):
      runs.append(run_record.read(folder))
  content = create(runs)
  with durable_files.naming(path):
    path.parent.mkdir(parents=True, exist_ok=True)
  durable_files.write_text(path, content)


@contextlib.contextmanager
def _naming(folder: pathlib.Path) -> Iterator[None]:
  """Adds the folder's name to errors about files of the folder."""
  try:
    yield
  except saved_experiment.SavedExperimentError as error:
    raise saved_experiment.SavedExperimentError(f'{folder}: {error}') from error


def create(runs: Sequence[run_record.RunRecord]) -> str:
  """The report as HTML."""
  shown = runs[:_MAX_IN_FULL]
  if len(runs) == 1:
    title, body = runs[0].name, [*_create_run(runs[0])]
  else:
    title = f'{len(runs)} runs'
    body = [*report_of_groups.create(report_of_groups.find_groups(runs))]
    body.append(page.heading('Each run'))
    for run in shown:
      body.append(page.details(run.name, ''.join(_create_run(run)), 'run'))
    if len(runs) > len(shown):
      body.append(
        page.paragraph(
          f'The first {len(shown)} of {len(runs)} runs are shown in full; the'
          ' report of a single run shows all.'
        )
      )
  names = ', '.join(run.name for run in shown)
  others = ' and others' if len(runs) > len(shown) else ''
  body.append(
    page.paragraph(
      f'Made by tff_semifl {tff_semifl.__version__} from {names}{others}.',
      'quiet',
    )
  )
  return page.page(title, body)


def _create_run(run: run_record.RunRecord) -> Iterator[str]:
  yield from _summary(run)
  yield page.warnings(_find_problems(run))
  yield page.heading('Metrics')
  yield page.table(['metric', 'value', '95% interval', 'better'], _metrics(run))
  yield page.paragraph(
    'Intervals are for other images, not other seeds: Wilson intervals of'
    ' accuracies, bootstrap intervals of other metrics.',
    'quiet',
  )
  yield page.heading('Learning curves')
  yield report_of_groups.curves({run.hparams.system or run.name: [run.metrics]})
  if run.evaluated is not None:
    yield from _classes(run.class_names, run.evaluated)
  yield page.heading('Clients')
  yield from _clients(run)
  yield page.heading('Privacy')
  yield from _privacy(run)
  yield page.heading('Settings')
  if run.settings is not None:
    yield f'<pre>{page.text(_spell_command(run))}</pre>\n'
  table = page.table(*run_facts.settings_table(run.hparams))
  yield page.details('all settings', table)
  versions = page.table(
    ['what', 'version'], sorted(run.hparams.versions.items())
  )
  yield page.details('versions', versions)


def _find_problems(run: run_record.RunRecord) -> list[str]:
  """Warnings about the numbers of a run, the most serious first."""
  scores = None if run.evaluated is None else run.evaluated.scores
  lines = []
  if scores is not None and scores.num_images < _FEW_IMAGES:
    lines.append(
      f'{scores.num_images} {run.kind} images are few: one is'
      f' {100 / scores.num_images:.2g} points, and differences within the'
      ' intervals mean nothing.'
    )
  limits = run_facts.describe_limits(
    run.class_names, run.hparams, run.trained, scores
  )
  return [*lines, *run.hparams.notes, *run.warnings, *limits]


def _summary(run: run_record.RunRecord) -> Iterator[str]:
  trained = run.trained
  accuracy = f'{trained.accuracy:.1%}'
  if run.evaluated is not None:
    scores = run.evaluated.scores
    accuracy = intervals.describe(scores.accuracy, scores.class_sizes)
  yield page.paragraph(f'{run.kind} accuracy: {accuracy}', 'lead')
  if run.evaluated is None:
    yield page.paragraph(
      'Predictions could not be examined here, so that this report has no'
      f' classes, calibration and images: {run.why_not_evaluated}.',
      'quiet',
    )
  if run.result:
    yield f'<pre>{page.text(chr(10).join(run.result))}</pre>\n'
  chosen = trained.choice.describe() if trained.choice else 'the last'
  yield page.table(
    ['', ''],
    [
      ('system', run.hparams.system),
      ('task', run.hparams.flags.get('task', '')),
      ('seed', run.hparams.flags.get('seed', '')),
      ('model of round', f'{trained.round_num}, {chosen}'),
    ],
  )


def _metrics(run: run_record.RunRecord) -> Iterator[tuple[str, ...]]:
  """Yields title, value, interval, and whether higher is better, by metric."""
  for name, value in run.measure().items():
    yield (
      run_facts.TITLES[name],
      summary.show(name, value) or 'not defined here',
      '' if run.evaluated is None else _interval(name, run.evaluated),
      'higher' if metric_lib.METRICS[name].higher_is_better else 'lower',
    )
  # Metrics of the setting `metrics`; metrics by class are in a table.
  for name, value in run.recorded_values.items():
    of_class = name.partition('/')[0] in metric_lib.METRICS and '/' in name
    if name not in ('loss', *run_facts.TITLES) and not of_class:
      yield name, summary.show(name, value), '', ''


def _interval(name: str, evaluated: run_record.Evaluated) -> str:
  labels, logits = evaluated.scores.labels, evaluated.scores.logits
  if name == 'accuracy':
    num_right = int(np.sum(logits.argmax(axis=1) == labels))
    return str(intervals.of_accuracy(num_right, len(labels)))
  if logits.size > _MAX_BOOTSTRAPPED:
    return 'too many images for a bootstrap'
  ends = metric_lib.bootstrap(metric_lib.METRICS[name].compute, labels, logits)
  return summary.show_interval(name, intervals.Interval(*ends))


def _classes(
  class_names: Sequence[str], evaluated: run_record.Evaluated
) -> Iterator[str]:
  """Yields sections on classes, calibration and misclassified images."""
  scores = evaluated.scores
  yield page.heading('Classes')
  headings, rows = run_facts.class_table(class_names, scores)
  if len(rows) > _SHOWN_CLASSES:
    recall = np.diag(scores.confusion) / np.maximum(scores.class_sizes, 1)
    # Classes without images come last.
    order = np.lexsort([recall, scores.class_sizes == 0])[:_SHOWN_CLASSES]
    yield page.paragraph(f'The {_SHOWN_CLASSES} with the lowest recall:')
    yield page.table(headings, [rows[i] for i in order])
    yield page.details(f'all {len(rows)} classes', page.table(headings, rows))
  else:
    yield page.table(headings, rows)
  if len(class_names) <= _MAX_CONFUSION:
    fig = figures.create_confusion(
      scores.confusion, class_names, 'Confusion matrix'
    )
    svg = page.draw('Confusion matrix of the classes', fig)
    yield page.box('scroll large', svg)
  yield page.heading('Calibration')
  calibration = run_facts.describe_calibration(scores)
  yield page.paragraph(run_facts.sentence(calibration))
  if evaluated.wrong:
    yield page.heading('Wrong images, the most confident first')
    shown = (
      page.show_image(
        each.image,
        f'{class_names[each.label]}, taken for {class_names[each.predicted]}'
        f' ({each.confidence:.0%})',
      )
      for each in evaluated.wrong
    )
    yield page.box('gallery', ''.join(shown))


def _clients(run: run_record.RunRecord) -> Iterator[str]:
  if not run.clients:
    yield page.paragraph(
      'The accuracy of each client was not measured; --client_accuracy does it'
      ' where images of clients have labels that only measure.'
    )
    return
  for described in client_results.describe_accuracies(run.clients):
    yield page.paragraph(run_facts.sentence(described))
  fig = figures.create_client_accuracies(
    *run.clients, title='Accuracy of clients'
  )
  yield page.box('large', page.draw('Accuracy of each client', fig))


def _privacy(run: run_record.RunRecord) -> Iterator[str]:
  privacy = run.privacy
  if privacy is None:
    yield page.paragraph(
      'Not trained with differential privacy. Images stay with clients; what'
      ' their updates and the weights tell of them is not bounded.'
    )
    return
  weak = 'Weak. ' if privacy.is_weak else ''
  yield page.paragraph(f'{weak}{privacy.headline}.')
  if privacy.meaning:
    yield page.paragraph(f'{privacy.meaning}.')
  if privacy.details:
    yield page.table(['term', ''], privacy.details)


def _spell_command(run: run_record.RunRecord) -> str:
  changes = restored_settings.find_changes(run.hparams, run.settings)
  words = [
    f'python -m launch.train {run.hparams.system}',
    *(shlex.quote(f'--{k}={settings.show(v)}') for k, v in changes.items()),
  ]
  return ' \\\n  '.join(words)
