# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that pages agree with the records of `benchmarks.digits_table`."""

import csv
import pathlib
import statistics

from absl.testing import absltest

from benchmarks import digits_table

_ROOT = pathlib.Path(__file__).parents[2]
_PAGE = _ROOT / 'docs' / 'results' / 'digits_tuned'


class TunedResultsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.runs = digits_table.read_runs(_PAGE)

  def test_no_run_is_missing(self):
    self.assertEmpty(digits_table.missing_runs(self.runs))

  def test_pages_have_the_tables(self):
    page = (_PAGE / 'README.md').read_text()
    for table in digits_table.tables(self.runs):
      self.assertIn(table, page)
    (semifl,) = (
      line
      for line in digits_table.summarize(self.runs).splitlines()
      if line.startswith('| SemiFL, tuned')
    )
    # The first page has the last accuracies with 20 labels, without percents.
    last = [cell.split('%')[0].strip() for cell in semifl.split('|')[2:5]]
    row = next(
      line
      for line in (_ROOT / 'README.md').read_text().splitlines()
      if line.startswith('| digits, SemiFL')
    )
    self.assertEqual([row.split('|')[k].strip() for k in (4, 5, 6)], last)

  def test_rates_are_chosen_on_other_seeds_than_are_reported(self):
    """The cell of client priors with 20 labels and two classes, recomputed."""
    with (_PAGE / 'runs.csv').open(newline='') as file:
      rows = [
        row
        for row in csv.DictReader(file)
        if (row['system'], row['labels'], row['partition'])
        == ('client_prior_semifl', '20', 'two classes')
      ]

    def last(rate, seeds):
      return statistics.fmean(
        float(row['last'])
        for row in rows
        if row['learning_rate'] == rate and int(row['seed']) in seeds
      )

    rate = max(('0.1', '0.3'), key=lambda rate: last(rate, (0, 1)))
    self.assertIn(
      f'| {last(rate, range(20, 28)):.1%} (',
      next(
        line
        for line in digits_table.summarize(self.runs).splitlines()
        if line.startswith('| client priors')
      ),
    )


if __name__ == '__main__':
  absltest.main()
