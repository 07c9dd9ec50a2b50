# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that tables of results agree with the metrics beside them.

`docs/results/<page>/<experiment>_seed<seed>/metrics.csv` is what a run wrote.
A row of the page's tables that names an experiment, as `semifl`, has the mean
of its seeds, and with several the sample standard deviation in parentheses. In
a column `minus SemiFL` it has the mean difference to SemiFL's row, seed by
seed, and its standard error, in points. Columns about pseudo-labels have means
of the metrics in `_OF_PSEUDO_LABELS`.
"""

import csv
import math
import pathlib
import re
import statistics

from absl.testing import absltest
from absl.testing import parameterized

_ROOT = pathlib.Path(__file__).parents[2]
_RESULTS = _ROOT / 'docs' / 'results'
# Pages whose table has rounds of single runs: how many, and the runs.
_PAGES_OF_ROUNDS = {
  'cifar10_4000_iid_gpu': (20, ('semifl', 'semifl_without_clients')),
  'cifar10_4000_iid_wrn28x2': (6, ('semifl',)),
}
# See `fair_results_test`.
_PAGE_OF_CHOSEN_RATES = 'digits_50_iid_fair'
_PAGES = tuple(
  sorted(
    {path.parent.name for path in _RESULTS.glob('*/README.md')}
    - {*_PAGES_OF_ROUNDS, _PAGE_OF_CHOSEN_RATES}
  )
)


_OF_PSEUDO_LABELS = {
  'trained on': 'client/label_ratio',
  'right': 'client/pseudo_accuracy',
  # Of all labels that were trained on: no mean over clients, of which some
  # train on none.
  'right of these': 'client/micro_threshold_accuracy',
}

# Rows of H.8, with marks that say how many seeds there are.
_MARKS = '*†'
_CLIENT_PRIOR_ROWS = {
  'SemiFL with client priors': 'client_prior_semifl_weight_by_labels',
  'weight 0.71': 'client_prior_semifl_weight_0_71',
  'half weight': 'client_prior_semifl_half_weight',
  'M-step alone': 'client_prior_semifl_m_step_3_iterations',
  # With 20 labels, this weight is half of the default.
  'E-step alone': 'client_prior_semifl_e_step_half_weight',
  'E-step alone, half weight': 'client_prior_semifl_e_step_half_weight',
  'whole weight': 'client_prior_semifl',
  'whole weight, true priors': 'true_prior_semifl',
  'whole weight, distribution alignment': 'client_prior_semifl_aligned',
  'whole weight, 20 iterations': 'client_prior_semifl_20_iterations',
  'whole weight, E-step alone': 'client_prior_semifl_e_step_3_iterations',
  'whole weight, E-step alone, 20 iterations': 'client_prior_semifl_e_step',
  'SemiFL': 'semifl',
  'SemiFL with distribution alignment': 'composed_semifl_aligned',
  '(FL)²': 'flfl',
  'FixMatch in one place': 'fixmatch',
  'labels alone': 'semifl_without_clients',
}
# These systems do not depend on the partition.
_WITHOUT_CLIENTS = ('semifl_without_clients', 'fixmatch')


def _read(page, experiment):
  """Returns the last rows of an experiment by seed."""
  rows = {}
  for folder in sorted((_RESULTS / page).glob(f'{experiment}_seed*')):
    with (folder / 'metrics.csv').open() as file:
      *_, rows[folder.name.rpartition('_seed')[2]] = csv.DictReader(file)
  return rows


def _show(values):
  """Returns mean and deviation in the form of the tables."""
  shown = f'{statistics.fmean(values):.1%}'
  if len(values) > 1:
    shown += f' ({100 * statistics.stdev(values):.1f})'
  return shown


def _show_difference(values, others):
  """Returns the mean paired difference and its standard error, in points."""
  points = [100 * (v - o) for v, o in zip(values, others, strict=True)]
  error = statistics.stdev(points) / math.sqrt(len(points))
  return f'{statistics.fmean(points):+.1f} ± {error:.1f}'


def _show_beside_semifl(page, experiment):
  """Returns a mean accuracy and its difference to SemiFL, in H.8's form."""
  has_difference = experiment not in ('semifl', *_WITHOUT_CLIENTS)
  if experiment in _WITHOUT_CLIENTS:
    page = re.sub('_(50|20)_.*', r'_\1_iid', page)
  if page == 'digits_50_iid' and _read(f'{page}_client_priors', experiment):
    # The page with more seeds of client priors.
    page += '_client_priors'
  values, of_semifl = (
    {
      seed: float(run['test/accuracy'])
      for seed, run in _read(page, each).items()
    }
    for each in (experiment, 'semifl')
  )
  shown = f'{statistics.fmean(values.values()):.1%}'
  if not has_difference:
    return shown
  seeds = sorted(values.keys() & of_semifl.keys())
  difference = _show_difference(
    *([each[seed] for seed in seeds] for each in (values, of_semifl))
  )
  return f'{shown} ({difference})'


def _table_rows(path):
  """Returns the cells of all rows of all tables of a document."""
  return [
    [cell.strip() for cell in line.strip('|\n').split('|')]
    for line in path.read_text().splitlines()
    if line.startswith('| ')
  ]


class ResultsTest(parameterized.TestCase):
  @parameterized.parameters(*_PAGES)
  def test_tables_are_those_of_the_metrics(self, page):
    checked = set()
    has_seeds = False
    for row in _table_rows(_RESULTS / page / 'README.md'):
      has_seeds |= row[1] == 'seeds'
      named = re.search(r'`(\w+)`', row[0])
      if named is None:
        continue
      runs = _read(page, named[1])
      self.assertNotEmpty(runs, f'{page}: no metrics of {named[1]}')
      for column in ('test/accuracy', 'test/best_accuracy'):
        shown = _show([float(run[column]) for run in runs.values()])
        self.assertIn(shown, row, f'{named[1]}: {column}')
      if has_seeds:
        self.assertEqual(row[1], str(len(runs)))
      checked.add(named[1])
    recorded = {
      path.parent.name.rpartition('_seed')[0]
      for path in (_RESULTS / page).glob('*/metrics.csv')
    }
    self.assertEqual(checked, recorded)

  def test_differences_to_semifl_are_paired(self):
    num_checked = 0
    for page in _PAGES:
      column = None
      for row in _table_rows(_RESULTS / page / 'README.md'):
        if 'minus SemiFL' in row:
          column = row.index('minus SemiFL')
        named = re.search(r'`(\w+)`', row[0])
        if column is None or named is None or named[1] == 'semifl':
          continue
        runs, others = _read(page, named[1]), _read(page, 'semifl')
        # Some experiments have more seeds than others.
        seeds = runs.keys() & others.keys()
        self.assertGreaterEqual(len(seeds), 5)
        self.assertEqual(
          row[column],
          _show_difference(
            *(
              [float(each[seed]['test/accuracy']) for seed in sorted(seeds)]
              for each in (runs, others)
            )
          ),
        )
        num_checked += 1
    self.assertGreater(num_checked, 0)

  def test_columns_about_pseudo_labels(self):
    num_checked = 0
    for page in _PAGES:
      heading = []
      for row in _table_rows(_RESULTS / page / 'README.md'):
        if row[-1] in _OF_PSEUDO_LABELS:
          heading = row
        named = re.search(r'`(\w+)`', row[0])
        if named is None or not heading:
          continue
        runs = _read(page, named[1]).values()
        for name, metric in _OF_PSEUDO_LABELS.items():
          values = [float(run[metric]) for run in runs if run.get(metric)]
          self.assertEqual(
            row[heading.index(name)],
            f'{statistics.fmean(values):.0%}' if values else '',
            f'{page}, {named[1]}: {name}',
          )
          num_checked += 1
    self.assertGreater(num_checked, 100)

  def test_tables_of_client_priors(self):
    document = _ROOT / 'docs/algorithms/client_priors.md'
    num_checked = 0
    pages = ()
    for row in _table_rows(document):
      if row[0] in ('50 labels', '20 labels'):
        settings = ('classes2', 'dirichlet0.1', 'iid')
        pages = [f'digits_{row[0][:2]}_{setting}' for setting in settings]
      experiment = _CLIENT_PRIOR_ROWS.get(row[0].rstrip(_MARKS))
      if experiment is None or not pages:
        continue
      for page, cell in zip(pages, row[1:], strict=True):
        if cell:
          self.assertEqual(
            re.sub(f'[{_MARKS}]', '', cell),
            _show_beside_semifl(page, experiment),
            f'{row[0]}, {page}',
          )
          num_checked += 1
    cells = re.findall(r'[|] \d+\.\d%', document.read_text())
    self.assertLen(cells, num_checked)

  @parameterized.parameters(
    (page, *table) for page, table in _PAGES_OF_ROUNDS.items()
  )
  def test_table_of_rounds(self, page, num_rounds, experiments):
    rows = [
      row
      for row in _table_rows(_RESULTS / page / 'README.md')
      if row[0][0].isdigit()
    ]
    self.assertLen(rows, num_rounds)
    for column, experiment in enumerate(experiments, start=1):
      path = _RESULTS / page / f'{experiment}_seed0' / 'metrics.csv'
      with path.open() as file:
        accuracies = {
          row['round']: float(row['test/accuracy'])
          for row in csv.DictReader(file)
        }
      for row in rows:
        round_num = row[0].split()[0]
        self.assertEqual(row[column], f'{accuracies[round_num]:.1%}')

  def test_table_of_features(self):
    folder = _RESULTS / 'cifar10_client_priors_on_features'
    with (folder / 'runs.csv').open() as file:
      runs = list(csv.DictReader(file))
    page = _ROOT / 'docs' / 'algorithms' / 'client_priors_on_features.md'
    rows = [
      row for row in _table_rows(page) if row[2:] and row[2].startswith('100, ')
    ]
    partitions = ('classes2', 'dirichlet0.1', 'dirichlet0.5', 'iid')
    for row, partition in zip(rows, partitions, strict=True):
      chosen = [run for run in runs if run['partition'] == partition]
      self.assertLen(chosen, 3)
      for cell, column in zip(
        row[3:5], ('labels_alone', 'client_priors'), strict=True
      ):
        mean = statistics.fmean(float(run[column]) for run in chosen)
        self.assertEqual(cell, f'{100 * mean:.1f}')

  def test_table_of_digits(self):
    with (_RESULTS / 'digits_50_iid' / 'table.csv').open() as file:
      table = {row['name']: row for row in csv.DictReader(file)}
    for name, row in table.items():
      runs = _read('digits_50_iid', name).values()
      self.assertLen(runs, 5)
      for column in ('accuracy', 'best_accuracy'):
        values = [float(run[f'test/{column}']) for run in runs]
        self.assertAlmostEqual(
          float(row[f'{column}_mean']), statistics.fmean(values)
        )
        self.assertAlmostEqual(
          float(row[f'{column}_deviation']), statistics.stdev(values)
        )

  def test_page_has_the_seeds_of_the_demonstration(self):
    alone, semifl = (
      [
        float(run['test/accuracy'])
        for run in _read('digits_50_iid', experiment).values()
      ]
      for experiment in ('semifl_without_clients', 'semifl')
    )
    rows = _table_rows(_RESULTS / 'digits_50_iid' / 'README.md')
    for seed, pair in enumerate(zip(alone, semifl, strict=True)):
      difference = 100 * (pair[1] - pair[0])
      self.assertIn(
        [str(seed), *map('{:.1%}'.format, pair), f'{difference:+.1f} points'],
        rows,
      )
    self.assertIn(
      [
        'mean (standard deviation)',
        _show(alone),
        _show(semifl),
        f'{100 * (statistics.fmean(semifl) - statistics.fmean(alone)):+.1f}'
        ' points',
      ],
      rows,
    )


if __name__ == '__main__':
  absltest.main()
