# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the table and the choice of a sweep that validates."""

import math

from absl.testing import absltest

from tff_semifl.runs import results
from tff_semifl.sweeps import entries
from tff_semifl.sweeps import validation_table

_ENTRY = entries.Entry('semifl_my', 'semifl', 'my flags/my.flags', None)
_VALUES = entries.vary([_ENTRY], 'learning_rate', ['0.1', '0.3', '1'])


def _rows(*losses):
  """Returns a row for each value, with the losses of two runs or fewer."""
  return [
    validation_table.Row(
      entry,
      [
        *(results.Validation(loss, 0.95, 1.0) for loss in of_entry),
        *[None] * (2 - len(of_entry)),
      ],
    )
    for entry, of_entry in zip(_VALUES, losses, strict=True)
  ]


def _choose(rows, failed=()):
  return validation_table.describe_choices(
    rows, 'python -m launch.train', ['--total_rounds=7'], failed
  )


class ValidationTableTest(absltest.TestCase):
  def test_markdown(self):
    # Mean 0.3, off by 0.1 to both sides: the root of 0.02 is 0.1414.
    rows = _rows([0.2, 0.4], [0.25], [])
    text, caption = validation_table.to_markdown(rows).split('\n\n')
    self.assertEqual(
      text.splitlines(),
      [
        '| experiment | seeds | validation loss | validation accuracy |'
        ' minutes |',
        '| --- | --- | --- | --- | --- |',
        '| semifl_my_learning_rate0.1 | 2 | 0.3000 (0.1414) | 95.0% (0.0) |'
        ' 1.0 |',
        '| semifl_my_learning_rate0.3 | 1 of 2 | 0.2500 | 95.0% | 1.0 |',
        '| semifl_my_learning_rate1 | 0 of 2 | | | |',
      ],
    )
    self.assertIn('nothing was tested', caption)

  def test_least_mean_loss_is_chosen(self):
    # All have the same accuracy; the least loss of a run is that of another.
    # The next is above it by 0.05 on average: by -0.2 and 0.3, each 0.25 off,
    # which is the standard error, too.
    rows = _rows([0.1, 0.7], [0.3, 0.4], [0.5, 0.5])
    self.assertEqual(
      _choose(rows),
      [
        'semifl_my: the least validation loss, 0.3500, is that of'
        ' learning_rate=0.3, 0.0500 less than that of 0.1 (standard error'
        ' 0.2500); with all labels:',
        "  python -m launch.train semifl '--flagfile=my flags/my.flags'"
        ' --total_rounds=7 --learning_rate=0.3',
      ],
    )

  def test_what_is_not_finite_or_failed_loses(self):
    for losses in ([math.nan, 0.0], [math.inf, 0.0]):
      (chosen, *_) = _choose(_rows(losses, [0.9, 0.9], [1.0, 1.0]))
      self.assertIn('learning_rate=0.3', chosen)
    rows = _rows([0.5, 0.5], [0.4, 0.4], [0.1])
    self.assertEqual(
      _choose(rows),
      ['semifl_my: no choice before semifl_my_learning_rate1 is complete'],
    )
    (chosen, *_) = _choose(rows, ['semifl_my_learning_rate1'])
    self.assertIn('learning_rate=0.3', chosen)
    self.assertEqual(
      _choose(_rows(*[[math.nan, 0.0]] * 3)),
      ['semifl_my: no choice, as no value has a finite loss'],
    )

  def test_says_that_there_may_be_better_values(self):
    for losses in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
      *_, last = _choose(_rows(*([loss] * 2 for loss in losses)))
      self.assertIn('first or last value', last)

  def test_each_entry_has_a_choice(self):
    other = entries.Entry('flfl_my', 'flfl', 'my.flags', None)
    varied = entries.vary([_ENTRY, other], 'learning_rate', ['0.1', '0.3'])
    rows = [
      validation_table.Row(entry, [results.Validation(loss, 0.5, 1.0)])
      for entry, loss in zip(varied, [0.1, 0.2, 0.2, 0.1], strict=True)
    ]
    chosen = [line for line in _choose(rows) if 'least' in line]
    self.assertLen(chosen, 2)
    self.assertRegex(
      chosen[0],
      '^semifl_my: .*learning_rate=0.1, 0.1000 less than that of 0.3;',
    )
    self.assertRegex(chosen[1], '^flfl_my: .*learning_rate=0.3, ')


if __name__ == '__main__':
  absltest.main()
