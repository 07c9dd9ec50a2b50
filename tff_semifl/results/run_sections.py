# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sections of a report on one run."""

from collections.abc import Iterator
import itertools
import shlex
import textwrap

import numpy as np

from tff_semifl.experiments import accuracy_of_clients
from tff_semifl.experiments import experiment_folder
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import task_registry
from tff_semifl.metrics import client_accuracy
from tff_semifl.metrics import intervals
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.plots import client_accuracy_figure
from tff_semifl.plots import curve_panels
from tff_semifl.plots import learning_curves
from tff_semifl.plots import partition_figure
from tff_semifl.results import class_sections
from tff_semifl.results import model_card
from tff_semifl.results import page
from tff_semifl.results import run_record
from tff_semifl.results import scores_in_words
from tff_semifl.results import summary
from tff_semifl.runs import metrics_table

# With more logits, 500 samples take minutes.
MAX_BOOTSTRAPPED = 500_000
# With so many images, one is half a point.
_FEW_IMAGES = 200
_LOSSES = (
  curve_panels.Panel('test/loss', 'Test loss', '', 1.0),
  curve_panels.Panel('validation/loss', 'Validation loss', '', 1.0),
)


def create(run: run_record.RunRecord) -> Iterator[str]:
  """Yields all sections, HTML."""
  yield _summary(run)
  yield page.warnings(find_problems(run))
  yield page.heading('Metrics')
  yield _metrics(run)
  yield page.heading('Learning curves')
  yield curves({run.hparams.system or run.name: [run.metrics]})
  if run.evaluated is not None:
    yield from class_sections.create_classes(
      run.class_names, run.evaluated.scores
    )
    yield from class_sections.create_examples(run.class_names, run.evaluated)
  yield page.heading('Clients')
  yield from _clients(run)
  yield page.heading('Privacy')
  yield from _privacy(run)
  yield page.heading('Settings')
  yield from _settings(run)


def find_problems(run: run_record.RunRecord) -> list[str]:
  """Limits of a run's numbers, the gravest first."""
  scores = None if run.evaluated is None else run.evaluated.scores
  lines = model_card.describe_limits(
    run.class_names, run.hparams, run.trained, scores
  )
  few = []
  if scores is not None and scores.num_images < _FEW_IMAGES:
    few = [
      f'{scores.num_images} {run.kind} images are few: one is'
      f' {100 / scores.num_images:.2g} points, and differences within the'
      ' intervals mean nothing.'
    ]
  idle = [] if run.idle_rounds is None else [f'{run.idle_rounds}.']
  return [*few, *idle, *run.hparams.notes, *run.warnings, *lines]


def curves(experiments: learning_curves.Experiments) -> str:
  """Figures of all panels that have curves, HTML."""
  drawn = []
  panels = curve_panels.choose(
    curve_panels.LEARNING_CURVES, itertools.chain(*experiments.values())
  )
  for panel in (*panels, *_LOSSES):
    with page.figure_style():
      try:
        fig = learning_curves.create_figure(experiments, [panel], '')
      except metrics_table.MetricsError:
        continue
    # A single panel has more room than one beside others.
    fig.set_size_inches(3.6, fig.get_figheight() + 0.3)
    [legend] = fig.legends
    if len(legend.get_texts()) == 1 and legend.get_title().get_text() == '':
      # One curve needs no legend.
      legend.remove()
    drawn.append(page.draw(fig, f'{panel.title} by round'))
  return page.box('figures', ''.join(drawn))


def _summary(run: run_record.RunRecord) -> str:
  flags, trained = run.hparams.flags, run.trained
  chosen = trained.choice.describe() if trained.choice else 'the last'
  accuracy = f'{trained.accuracy:.1%}'
  if run.evaluated is not None:
    scores = run.evaluated.scores
    accuracy = intervals.describe(scores.accuracy, scores.class_sizes)
  facts = [
    ('system', run.hparams.system),
    ('task', flags.get('task')),
    ('labeled images', flags.get('num_labeled')),
    ('clients', flags.get('num_clients')),
    ('seed', flags.get('seed')),
    ('model of round', f'{trained.round_num}, {chosen}'),
  ]
  text = page.paragraph(f'{run.kind} accuracy: {accuracy}', 'lead')
  if run.evaluated is None:
    text += page.paragraph(
      'Predictions could not be examined here, so that this report has no'
      f' classes, calibration and images: {run.why_not_evaluated}.',
      'quiet',
    )
  if run.result:
    text += f'<pre>{page.text(chr(10).join(run.result))}</pre>\n'
  return text + page.table(
    ['', ''], [fact for fact in facts if fact[1] is not None]
  )


def _metrics(run: run_record.RunRecord) -> str:
  return page.table(
    ['metric', 'value', '95% interval', 'better'], metric_rows(run)
  ) + page.paragraph(
    'Intervals are about other images, not other seeds: Wilson of accuracies,'
    ' bootstrap of others.',
    'quiet',
  )


def metric_rows(run: run_record.RunRecord) -> Iterator[tuple[str, ...]]:
  """Yields title, value, interval and better direction of each metric."""
  for name, value in run.measure().items():
    yield (
      run_record.TITLES[name],
      summary.show(name, value) or 'not defined here',
      '' if run.evaluated is None else _interval(name, run.evaluated),
      'higher' if metric_lib.METRICS[name].higher_is_better else 'lower',
    )
  # Metrics of the setting `metrics`; those by class have a table.
  for name, value in run.recorded_values.items():
    of_class = name.partition('/')[0] in metric_lib.METRICS and '/' in name
    if name not in ('loss', *run_record.TITLES) and not of_class:
      yield name, summary.show(name, value), '', ''


def _interval(name: str, evaluated: run_record.Evaluated) -> str:
  labels, logits = evaluated.scores.labels, evaluated.logits
  if name == 'accuracy':
    num_right = int(np.sum(logits.argmax(axis=1) == labels))
    return str(intervals.of_accuracy(num_right, len(labels)))
  if logits.size > MAX_BOOTSTRAPPED:
    return 'too many images for a bootstrap'
  ends = intervals.interval(metric_lib.METRICS[name].compute, labels, logits)
  return summary.show_interval(name, intervals.Interval(*ends))


def _clients(run: run_record.RunRecord) -> Iterator[str]:
  if run.client_classes:
    yield page.paragraph('Images at all clients, estimated by client priors:')
    yield page.table(
      ['class', 'images', 'of a client, at least', 'at most'],
      (
        (name, *(f'{number:.0f}' for number in (sum(c), min(c), max(c))))
        for name, c in run.client_classes.items()
      ),
    )
    with page.figure_style():
      fig = partition_figure.create_figure(
        np.stack([*run.client_classes.values()], axis=1),
        [*run.client_classes],
        'Estimated classes of clients',
      )
    yield page.box('large', page.draw(fig, 'Estimated images of each client'))
  if not run.clients:
    yield page.paragraph(
      'The accuracy of each client was not measured; --client_accuracy does it'
      ' where images of clients have labels that only measure.'
    )
    return
  described = accuracy_of_clients.describe(
    client_accuracy.summarize(run.clients)
  )
  yield page.paragraph(scores_in_words.sentence(described))
  with page.figure_style():
    fig = client_accuracy_figure.create_figure(
      run.clients, 'Accuracy of clients'
    )
  yield page.box('large', page.draw(fig, 'Accuracy of each client'))


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


def _settings(run: run_record.RunRecord) -> Iterator[str]:
  if run.settings is not None:
    yield f'<pre>{page.text(spell_command(run))}</pre>\n'
  flags = [
    (f'--{name}', _spell(value))
    for name, value in sorted(run.hparams.flags.items())
    if value is not None and name not in run_settings.UNIMPORTANT
  ]
  yield page.details('all settings', page.table(['setting', 'value'], flags))
  yield page.details(
    'versions',
    page.table(['what', 'version'], sorted(run.hparams.versions.items())),
  )


def spell_command(run: run_record.RunRecord) -> str:
  """The command that repeats the training, without default values."""
  changes = experiment_folder.find_changes(
    run.hparams, task_registry.ChosenTask(), run.settings
  )
  words = [
    'python -m launch.train',
    run.hparams.system,
    *(shlex.quote(f'--{k}={_spell(v)}') for k, v in changes.items()),
  ]
  return textwrap.fill(
    ' '.join(words),
    76,
    subsequent_indent='  ',
    break_long_words=False,
    break_on_hyphens=False,
  ).replace('\n', ' \\\n')


def _spell(value: object) -> str:
  if isinstance(value, list | tuple):
    return ','.join(map(str, value))
  return str(value)
