# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reports: the content, and that pages load nothing."""

import html.parser
import types

from absl.testing import absltest
import numpy as np

from tff_semifl.data import sources
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import saved_experiment
from tff_semifl.export import scores
from tff_semifl.metrics import client_accuracy
from tff_semifl.metrics import intervals
from tff_semifl.results import report
from tff_semifl.results import report_of_groups
from tff_semifl.results import run_record

_NAMES = ('cat', '<script>', 'owl & co')
_VOID = ('meta', 'img', 'br')


class _Parser(html.parser.HTMLParser):
  """Checks that elements are closed, and keeps the texts of cells."""

  def __init__(self):
    super().__init__()
    self.open, self.attributes, self.rows = [], [], []

  def handle_starttag(self, tag, attrs):
    self.attributes.extend(attrs)
    if tag not in _VOID:
      self.open.append(tag)
    if tag == 'tr':
      self.rows.append([])
    if tag in ('td', 'th'):
      self.rows[-1].append('')

  def handle_startendtag(self, tag, attrs):
    self.attributes.extend(attrs)

  def handle_endtag(self, tag):
    assert self.open.pop() == tag, tag

  def handle_data(self, data):
    if self.open and self.open[-1] in ('td', 'th'):
      self.rows[-1][-1] += data


def _score(labels, predicted, confidence):
  """Scores of predictions that all have the same confidence."""
  labels, predicted = np.array(labels), np.array(predicted)
  rest = (1 - confidence) / (len(_NAMES) - 1)
  probabilities = np.where(
    np.eye(len(_NAMES), dtype=bool)[predicted], confidence, rest
  ).astype(np.float32)
  images = np.arange(len(labels)).reshape([-1, 1, 1, 1]).astype(np.uint8)
  model = types.SimpleNamespace(
    class_names=_NAMES,
    image_shape=(1, 1, 1),
    kind=sources.IMAGES,
    predict=lambda shown: probabilities[shown[:, 0, 0, 0] % len(labels)],
  )
  return scores.score(model, [(images, labels)])


def _create(name='mine_seed0', *, labels, predicted, **changes):
  """Creates a run with predictions."""
  found = _score(labels, predicted, 0.7)
  flags = {'task': 'digits', 'seed': 0, 'total_rounds': 2, 'output_dir': '/x'}
  flags |= changes.pop('flags', {})
  example = run_record.Example(np.zeros([4, 4, 1], np.uint8), 0, 1, 0.7)
  run = run_record.RunRecord(
    name=name,
    hparams=hparams_file.Hparams(
      system='semifl',
      flags=flags,
      data=None,
      versions={'numpy': '1.2'},
      notes=('7 of 9 test images are labeled images, too',),
    ),
    metrics={
      'round': np.arange(3.0),
      'test/accuracy': np.array([0.1, 0.2, found.accuracy]),
      'test/loss': np.array([3.0, 2, 1]),
      'test/mine': np.array([7.0, 8, 9]),
      'client/label_ratio': np.array([np.nan, 0, 0.5]),
      'seconds': np.full(3, 60.0),
    },
    trained=saved_experiment.TrainedModel(
      None,
      2,
      found.accuracy,
      0.9,
      choice=saved_experiment.Choice('test/accuracy', 2, found.accuracy),
    ),
    class_names=_NAMES,
    settings=None,
    evaluated=run_record.Evaluated(found, 'same', [example]),
    why_not_evaluated=None,
    clients=[[client_accuracy.ClientAccuracy('3', 1, 4)]],
    privacy=None,
    warnings=('mine: a warning',),
  )
  return run._replace(**changes)


class ReportTest(absltest.TestCase):
  def _parse(self, runs):
    content = report.create(runs)
    parser = _Parser()
    parser.feed(content)
    self.assertEmpty(parser.open)
    # The page loads nothing, and names do not become elements.
    for name, value in parser.attributes:
      if name in ('src', 'href', 'xlink:href'):
        self.assertRegex(value, '^(#|data:image/png;base64,)')
    self.assertNotIn('<script', content)
    return content, parser.rows

  def test_one_run(self):
    labels = [0, 0, 0, 0, 1, 1, 2, 2, 2]
    predicted = [0, 0, 0, 1, 1, 0, 2, 2, 1]
    content, rows = self._parse([_create(labels=labels, predicted=predicted)])
    accuracy = str(intervals.of_accuracy(6, 9))
    self.assertIn(['accuracy', '66.7%', accuracy, 'higher'], rows)
    # The mean of 3/4, 1/2 and 2/3.
    [balanced] = [row for row in rows if row[0] == 'balanced accuracy']
    self.assertEqual(balanced[1], '63.9%')
    # A user's metric, in the round of the exported model.
    self.assertIn(['mine', '9', '', ''], rows)
    self.assertIn(
      [
        '<script>',
        '2',
        intervals.show(1, 2),
        intervals.show(1, 3),
        f'{2 / 5:.2f}',
        'cat (1)',
      ],
      rows,
    )
    for said in (
      '9 test images are few',
      '7 of 9 test images are labeled images, too',
      'mine: a warning',
      'The test images chose its round, by test/accuracy',
      'worst client 3, 25.0%',
      'cat, taken for &lt;script&gt; (70%)',
      'Not trained with differential privacy',
      'aria-label="Confusion matrix',
    ):
      self.assertIn(said, content)
    self.assertLess(len(content), 300_000)
    # Settings of the program are not settings of the experiment.
    self.assertNotIn('--output_dir', content)

  def test_degenerate_predictions(self):
    _, rows = self._parse([_create(labels=[1], predicted=[0])])
    found = {row[0]: row[1] for row in rows}
    self.assertEqual(
      found['AUC, one class against the rest'], 'not defined here'
    )
    low_and_high = str(intervals.of_accuracy(0, 1))
    self.assertIn(['accuracy', '0.0%', low_and_high, 'higher'], rows)
    never = ['no images', intervals.show(0, 1)]
    self.assertIn(['cat', '0', *never, '', ''], rows)

  def test_run_whose_images_are_elsewhere(self):
    run = _create(labels=[0, 1], predicted=[0, 0])._replace(
      evaluated=None, why_not_evaluated='the images are gone', class_names=()
    )
    content, rows = self._parse([run])
    self.assertIn('and images: the images are gone.', content)
    self.assertIn(['accuracy', '50.0%', '', 'higher'], rows)
    other = _create('other', labels=[0, 1], predicted=[0, 1])
    groups = report_of_groups.find_groups([run, other])
    self.assertIn(
      'mine_seed0: not examined, the images are gone.',
      report_of_groups.find_problems(groups),
    )
    self.assertIn('other', ''.join(report_of_groups.create(groups)))

  def test_groups_are_runs_that_differ_in_their_seed(self):
    labels = [0, 0, 1, 1, 2, 2, 2, 2]
    runs = [
      _create(
        f'{name}_seed{seed}',
        labels=labels,
        predicted=[*labels[:number], *(1 - np.minimum(labels[number:], 1))],
        flags={'seed': seed, 'learning_rate': rate},
      )
      for name, rate, numbers in (('slow', 0.1, (4, 5)), ('fast', 0.3, (6, 8)))
      for seed, number in enumerate(numbers)
    ]
    first, second = report_of_groups.find_groups(runs)
    self.assertEqual((first.name, second.name), ('slow', 'fast'))
    self.assertEqual(list(first.runs), [0, 1])
    parser = _Parser()
    parser.feed(''.join(report_of_groups.create([first, second])))
    rows = parser.rows
    # 4/8 and 5/8; the quantile of t with one degree of freedom is 12.706.
    mean, half = 56.25, 12.706 * 6.25
    [row] = [row for row in rows if row[:2] == ['slow', '2'] and '±' in row[2]]
    self.assertEqual(
      row[2], f'56.2% ± 8.8\n{mean - half:.1f}% to {mean + half:.1f}%'
    )
    # 6/8 - 4/8 and 8/8 - 5/8: 25 and 37.5 points.
    mean, half = 31.25, 12.706 * 6.25
    [row] = [
      row for row in rows if row[:2] == ['fast', '2'] and '±' not in row[2]
    ]
    self.assertEqual(
      row[2], f'+31.2 ({mean - half:+.1f} to {mean + half:+.1f})'
    )


if __name__ == '__main__':
  absltest.main()
