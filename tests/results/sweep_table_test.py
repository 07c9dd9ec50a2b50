# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the tables of a sweep, with numbers computed by hand."""

import math

from absl.testing import absltest

from tff_semifl.experiment import presets
from tff_semifl.results import sweep_table

_CELL = sweep_table.Entry(
  'semifl_cell',
  'semifl',
  'flagfile',
  'flags/cell.flags',
  presets.PaperAccuracy('88.2% (0.3)', 0.882, 0.003),
)
_OTHER = sweep_table.Entry(
  'semifl_other', 'semifl', 'flagfile', 'other.flags', None
)
_ROWS = [
  sweep_table.Row(
    _CELL,
    [
      sweep_table.Results(9, 0.80, 0.90, 0.2, 1.0),
      sweep_table.Results(9, 0.84, 0.90, 0.4, 2.0),
      sweep_table.Results(9, 0.85, 0.93, 0.3, 6.0),
    ],
  ),
  sweep_table.Row(
    _OTHER,
    [
      sweep_table.Results(9, 0.81, 0.9, 0.5, 0.25),
      None,
      sweep_table.Results(9, 0.83, 0.9, 0.5, 0.25),
    ],
  ),
  sweep_table.Row(
    _CELL._replace(
      name='batch_label_semifl_cell', system_name='batch_label_semifl'
    ),
    [None, None],
    'another task',
  ),
]


_ENTRY = sweep_table.Entry(
  'semifl_my', 'semifl', 'flagfile', 'my flags/my.flags', None
)
_VALUES = [
  _ENTRY._replace(varied=('learning_rate', value))
  for value in ('0.1', '0.3', '1')
]


def _rows(*losses):
  """A row for each value, with the losses of at most two runs."""
  return [
    sweep_table.Row(
      entry,
      [
        *(sweep_table.Results(9, 0.95, 0.95, loss, 1.0) for loss in of_entry),
        *[None] * (2 - len(of_entry)),
      ],
    )
    for entry, of_entry in zip(_VALUES, losses, strict=True)
  ]


def _choose(rows):
  return sweep_table.describe_choices(
    rows, 'python -m launch.train', ['--total_rounds=7']
  )


class TableTest(absltest.TestCase):
  def test_markdown(self):
    # Last accuracy: mean 83%, deviations -3, 1 and 2 points: sqrt(14/2) is
    # 2.65. Best accuracy: mean 91%, deviations -1, -1 and 2: sqrt(6/2) is 1.73.
    # The differences for the first and third seed are 1 and -2 points: mean
    # -0.5, deviations 1.5, error sqrt(4.5) / sqrt(2) = 1.5. The quantile of t
    # is 12.706.
    self.assertEqual(
      sweep_table.tabulate(_ROWS, 'test')[0].split('\n\n')[0].splitlines(),
      [
        '| experiment | seeds | test loss | last accuracy | best accuracy |'
        ' difference | paper | minutes |',
        '| --- | --- | --- | --- | --- | --- | --- | --- |',
        '| semifl_cell | 3 | 0.3 ± 0.1 | 83.0% ± 2.6 | 91.0% ± 1.7 | |'
        ' 88.2% (0.3) | 3.0 |',
        '| semifl_other | 2 of 3 | 0.5 ± 0 | 82.0% ± 1.4 | 90.0% ± 0.0 |'
        ' -0.5 (-19.6 to +18.6) | | 0.2 |',
        '| batch_label_semifl_cell | 0 of 2 | | | | | 88.2% (0.3) | |',
      ],
    )

  def test_numbers(self):
    _, (first, second, third) = sweep_table.tabulate(_ROWS, 'test')
    expected = {
      'seeds': 3,
      'complete': 3,
      'loss_mean': 0.3,
      'accuracy_mean': 0.83,
      'accuracy_deviation': 7**0.5 / 100,
      'best_accuracy_mean': 0.91,
      'best_accuracy_deviation': 3**0.5 / 100,
      'paper_accuracy_mean': 0.882,
      'paper_accuracy_deviation': 0.003,
      'minutes_mean': 3,
    }
    self.assertEqual(
      list(first),
      [
        *('name', 'system', 'source', 'setting', 'value', *expected),
        *('difference_mean', 'difference_standard_error'),
      ],
    )
    for column, value in expected.items():
      self.assertAlmostEqual(float(first[column]), value, places=12)
    self.assertEqual(first['name'], 'semifl_cell')
    self.assertEqual(first['source'], 'flags/cell.flags')
    self.assertIsNone(first['difference_mean'])
    self.assertAlmostEqual(float(second['difference_mean']), -0.005)
    self.assertAlmostEqual(float(second['difference_standard_error']), 0.015)
    self.assertIsNone(second['paper_accuracy_mean'])
    self.assertEqual(third['system'], 'batch_label_semifl')
    self.assertEqual(third['complete'], 0)
    self.assertIsNone(third['accuracy_mean'])

  def test_test_images_of_another_task_are_not_compared(self):
    one = [sweep_table.Results(9, 0.5, 0.625, 1.0, 0.25)]
    rows = [
      sweep_table.Row(_CELL, one, task)
      for task in ('digits', 'cifar10', 'digits', 'cifar10')
    ]
    self.assertEqual(
      [row['difference_mean'] for row in sweep_table.tabulate(rows, 'test')[1]],
      [None, None, 0, 0],
    )


class ChoiceTest(absltest.TestCase):
  def test_least_mean_loss_is_chosen(self):
    # All values have the same accuracy; the least loss of a single run belongs
    # to another value.
    rows = _rows([0.1, 0.7], [0.3, 0.4], [0.5, 0.5])
    self.assertEqual(
      _choose(rows),
      [
        'semifl_my: the least validation loss, 0.3500, is that of'
        ' learning_rate=0.3; with all labels:',
        "  python -m launch.train semifl '--flagfile=my flags/my.flags'"
        ' --total_rounds=7 --learning_rate=0.3',
      ],
    )

  def test_what_is_not_finite_or_failed_loses(self):
    for losses in ([math.nan, 0.0], [math.inf, 0.0]):
      (chosen, *_) = _choose(_rows(losses, [0.9, 0.9], [1.0, 1.0]))
      self.assertIn('learning_rate=0.3', chosen)
    (chosen, *_) = _choose(_rows([0.5, 0.5], [0.4, 0.4], [0.1]))
    self.assertIn('learning_rate=0.3', chosen)
    self.assertEqual(
      _choose(_rows(*[[math.nan, 0.0]] * 3)),
      ['semifl_my: no choice, as no value has a finite loss'],
    )

  def test_says_that_there_may_be_better_values(self):
    for losses in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
      *_, last = _choose(_rows(*([loss] * 2 for loss in losses)))
      self.assertIn('first or last value', last)


if __name__ == '__main__':
  absltest.main()
