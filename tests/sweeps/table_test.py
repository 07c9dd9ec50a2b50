# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the table of a sweep; its numbers are worked out by hand."""

import csv
import io
import pathlib

from absl.testing import absltest

from tff_semifl.experiments import presets
from tff_semifl.files import durable_files
from tff_semifl.runs import results
from tff_semifl.sweeps import entries
from tff_semifl.sweeps import table

_CELL = entries.Entry(
  'semifl_cell',
  'semifl',
  'flags/cell.flags',
  presets.PaperAccuracy('88.2% (0.3)', 0.882, 0.003),
)
_OTHER = entries.Entry('semifl_other', 'semifl', 'other.flags', None)
_ROWS = [
  table.Row(
    _CELL,
    [
      results.Results(9, 0.80, 0.90, 1.0),
      results.Results(9, 0.84, 0.90, 2.0),
      results.Results(9, 0.85, 0.93, 6.0),
    ],
  ),
  table.Row(
    _OTHER,
    [
      results.Results(9, 0.81, 0.9, 0.25),
      None,
      results.Results(9, 0.83, 0.9, 0.25),
    ],
  ),
  table.Row(
    _CELL._replace(
      name='batch_label_semifl_cell', system_name='batch_label_semifl'
    ),
    [None, None],
    'another task',
  ),
]


class TableTest(absltest.TestCase):
  def test_markdown(self):
    # Last: mean 83%, off by -3, 1 and 2 points: the root of 14/2 is 2.65. Best:
    # mean 91%, off by -1, -1 and 2: the root of 6/2 is 1.73. Of the first and
    # the third seed there are differences of 1 and -2 points: -0.5 on average,
    # off by 1.5, the root of 4.5 over that of 2 is 1.5.
    self.assertEqual(
      table.to_markdown(_ROWS).split('\n\n')[0].splitlines(),
      [
        '| experiment | seeds | last accuracy | best accuracy | difference |'
        ' paper | minutes |',
        '| --- | --- | --- | --- | --- | --- | --- |',
        '| semifl_cell | 3 | 83.0% (2.6) | 91.0% (1.7) | | 88.2% (0.3) | 3.0 |',
        '| semifl_other | 2 of 3 | 82.0% (1.4) | 90.0% (0.0) | -0.5 (1.5) | |'
        ' 0.2 |',
        '| batch_label_semifl_cell | 0 of 2 | | | | 88.2% (0.3) | |',
      ],
    )
    self.assertIn('sample standard deviation', table.to_markdown(_ROWS))

  def test_csv(self):
    first, second, third = csv.DictReader(io.StringIO(table.to_csv(_ROWS)))
    expected = {
      'seeds': 3,
      'complete': 3,
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
        *('name', 'system', 'source', *expected),
        *('difference_mean', 'difference_standard_error'),
      ],
    )
    for column, value in expected.items():
      self.assertAlmostEqual(float(first[column]), value, places=12)
    self.assertEqual(first['name'], 'semifl_cell')
    self.assertEqual(first['source'], 'flags/cell.flags')
    self.assertEqual(first['difference_mean'], '')
    self.assertAlmostEqual(float(second['difference_mean']), -0.005)
    self.assertAlmostEqual(float(second['difference_standard_error']), 0.015)
    self.assertEqual(second['paper_accuracy_mean'], '')
    self.assertEqual(third['system'], 'batch_label_semifl')
    self.assertEqual(third['complete'], '0')
    self.assertEqual(third['accuracy_mean'] + third['minutes_mean'], '')

  def test_test_images_of_another_task_are_not_compared(self):
    one = [results.Results(9, 0.5, 0.625, 0.25)]
    rows = [
      table.Row(_CELL, one, task)
      for task in ('digits', 'cifar10', 'digits', 'cifar10')
    ]
    self.assertEqual(
      [
        row['difference_mean']
        for row in csv.DictReader(io.StringIO(table.to_csv(rows)))
      ],
      ['', '', '0.0', '0.0'],
    )

  def test_is_written_in_place_of_what_is_there(self):
    folder = pathlib.Path(self.create_tempdir().full_path, 'new')
    for text in ('first', table.to_csv(_ROWS)):
      table.write(text, folder / 'table.csv')
      self.assertEqual((folder / 'table.csv').read_text(), text)
    self.assertLen(list(folder.iterdir()), 1)
    with self.assertRaisesRegex(durable_files.OutputError, '/proc/no/t.md'):
      table.write('text', pathlib.Path('/proc/no/t.md'))


if __name__ == '__main__':
  absltest.main()
