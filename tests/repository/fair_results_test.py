# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that the page of chosen learning rates agrees with the records.

In `docs/results/digits_50_iid_fair`, `search/<run>` has the validation of each
rate, and `<system>_learning_rate<rate>_seed<seed>` the tests of those that were
chosen. Where that is the rate of `digits_50_iid`, its runs are the tests. Runs
of other names are the experiments that say why.
"""

import csv
import pathlib
import re
import statistics

from absl.testing import absltest

_RESULTS = pathlib.Path(__file__).parents[2] / 'docs' / 'results'
_PAGE = _RESULTS / 'digits_50_iid_fair'
_SHARED_PAGE = _RESULTS / 'digits_50_iid'
_SHARED_RATE = '0.1'
_RATES = ('0.01', '0.03', '0.1', '0.3', '1')


def _read_last(folder):
  """Returns the last row of a run's metrics."""
  with (folder / 'metrics.csv').open() as file:
    *_, last = csv.DictReader(file)
  return last


def _read_validation(system, rate):
  """Returns loss and accuracy on the validation images."""
  folder = _PAGE / 'search' / f'{system}_learning_rate{rate}_validation_seed0'
  last = _read_last(folder)
  assert not any(column.startswith('test/') for column in last)
  return float(last['validation/loss']), float(last['validation/accuracy'])


def _read_tests(name):
  """Returns the last rows of a name's runs, in the order of seeds."""
  folders = list(_PAGE.glob(f'{name}_seed*'))
  if not folders:
    shared = name.removesuffix(f'_learning_rate{_SHARED_RATE}')
    folders = list(_SHARED_PAGE.glob(f'{shared}_seed*'))
  return [
    _read_last(folder)
    for folder in sorted(folders, key=lambda path: int(path.name[-1]))
  ]


def _show(rows, column):
  values = [float(row[f'test/{column}']) for row in rows]
  return (
    f'{statistics.fmean(values):.1%} ({100 * statistics.stdev(values):.1f})'
  )


def _tables():
  """Returns the tables of the page: rows of cells, without their headings."""
  text = (_PAGE / 'README.md').read_text()
  tables = []
  for block in re.findall(r'(?:^\|.*\n)+', text, re.MULTILINE):
    heading, _, *rows = (
      [cell.strip() for cell in line.strip('|').split('|')]
      for line in block.splitlines()
    )
    tables.append((heading, rows))
  return tables


def _system(row):
  return re.search(r'`(\w+)`', row[0])[1]


class FairResultsTest(absltest.TestCase):
  def _table(self, *heading):
    rows = [
      row for found, rows in _tables() if found == list(heading) for row in rows
    ]
    self.assertNotEmpty(rows)
    return rows

  def test_search(self):
    rows = self._table('validation loss (accuracy)', *_RATES)
    for row in rows:
      for rate, cell in zip(_RATES, row[1:], strict=True):
        loss, accuracy = _read_validation(_system(row), rate)
        self.assertEqual(
          cell.strip('*'), f'{loss:.3f} ({accuracy:.0%})', (row[0], rate)
        )
    recorded = {
      path.name.partition('_learning_rate')[0]
      for path in (_PAGE / 'search').iterdir()
    }
    self.assertEqual({_system(row) for row in rows}, recorded)

  def test_chosen_rates_have_the_least_loss(self):
    for row in self._table('', 'rate', 'last', 'best', 'last with 0.1'):
      system = _system(row)
      losses = {rate: _read_validation(system, rate)[0] for rate in _RATES}
      self.assertEqual(row[1], min(losses, key=losses.get), system)

  def test_results_are_those_of_the_metrics(self):
    checked = set()
    for row in self._table('', 'rate', 'last', 'best', 'last with 0.1'):
      system = _system(row)
      name = f'{system}_learning_rate{row[1]}'
      runs = _read_tests(name)
      self.assertLen(runs, 5, name)
      self.assertEqual(row[2], _show(runs, 'accuracy'), name)
      self.assertEqual(row[3], _show(runs, 'best_accuracy'), name)
      shared = _read_tests(f'{system}_learning_rate{_SHARED_RATE}')
      self.assertEqual(row[4], _show(shared, 'accuracy'), name)
      checked.add(name)
    for row in self._table('', 'seeds', 'last', 'best'):
      name = _system(row)
      runs = _read_tests(name)
      self.assertEqual(row[1], str(len(runs)), name)
      self.assertEqual(row[2], _show(runs, 'accuracy'), name)
      self.assertEqual(row[3], _show(runs, 'best_accuracy'), name)
      checked.add(name)
    recorded = {
      path.parent.name.rpartition('_seed')[0]
      for path in _PAGE.glob('*/metrics.csv')
    }
    self.assertLessEqual(recorded, checked)


if __name__ == '__main__':
  absltest.main()
