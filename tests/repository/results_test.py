# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that tables and numbers on pages equal the recorded runs."""

import csv
import statistics

from absl.testing import parameterized
import numpy as np

from benchmarks import client_priors_summaries
from benchmarks import label_choice
from benchmarks import results_pages
from tests.repository import source_tree

_ROOT = source_tree.PROJECT_ROOT
_CELLS = client_priors_summaries.summarize_cells
_INPUTS = client_priors_summaries.summarize_inputs
_RESULTS = results_pages.RESULTS


def _mean(page, experiment):
  """The mean accuracy over seeds, in the last row of the metrics."""
  paths = sorted((_RESULTS / page).glob(f'{experiment}_seed*/metrics.csv'))
  return statistics.fmean(
    float(list(csv.DictReader(path.open()))[-1]['test/accuracy'])
    for path in paths
  )


class ResultsTest(parameterized.TestCase):
  @parameterized.parameters('digits.md', 'cifar10.md')
  def test_tables_are_those_of_the_runs(self, page):
    text = (_RESULTS / page).read_text()
    why = 'run python -m benchmarks.results_pages'
    self.assertEqual(results_pages.fill_in(text), text, why)

  @parameterized.parameters(
    ('digits_client_priors_on_features', 'runs.csv', _CELLS),
    ('digits_client_priors_on_features', 'runs_10.csv', _CELLS),
    ('digits_client_priors_on_features', 'runs_10_chosen.csv', _CELLS),
    ('cifar10_client_priors_on_features', 'runs.csv', _CELLS),
    ('cifar10_client_priors_on_features', 'runs_10000.csv', _CELLS),
    ('fashion_mnist_client_priors_on_features', 'runs.csv', _CELLS),
    ('site_shares', 'runs.csv', client_priors_summaries.summarize_sites),
    (
      'client_prior_network',
      'runs.csv',
      client_priors_summaries.summarize_networks,
    ),
    (
      'client_prior_network',
      'alike.csv',
      client_priors_summaries.summarize_seeds,
    ),
    (
      'client_prior_network',
      'alike_fashion_mnist.csv',
      client_priors_summaries.summarize_seeds,
    ),
    ('client_priors_inputs', 'runs.csv', _INPUTS),
    ('client_priors_inputs', 'cases.csv', _INPUTS),
  )
  def test_tables_of_client_priors(self, page, runs, summarize):
    text = (_RESULTS / page / 'README.md').read_text()
    rows = client_priors_summaries.read_rows(_RESULTS / page / runs)
    self.assertNotEmpty(rows)
    for line in summarize(rows):
      self.assertIn(line, text)

  @parameterized.parameters('digits', 'fashion_mnist', 'cifar10')
  def test_tables_of_chosen_labels(self, data):
    text = (_RESULTS / 'label_choice' / 'README.md').read_text()
    for kind, summarize in (
      ('accuracy', label_choice.summarize_accuracy),
      ('wrong_labels', label_choice.summarize_wrong),
    ):
      path = _RESULTS / 'label_choice' / f'{data}_{kind}.csv'
      for line in summarize([*csv.DictReader(path.open())]):
        self.assertIn(line, text)

  @parameterized.parameters(
    (
      '[CIFAR-10](docs/results/cifar10.md)',
      ('cifar10_1000_iid', 'labels_alone'),
      ('cifar10_1000_classes2', 'semifl'),
      ('cifar10_1000_dirichlet0.1', 'semifl'),
      ('cifar10_1000_iid', 'semifl'),
      ('cifar10_1000_iid', 'all_labels'),
    ),
  )
  def test_rows_of_the_first_page(self, beginning, *cells):
    (row,) = (
      line
      for line in (_ROOT / 'README.md').read_text().splitlines()
      if line.startswith(f'| {beginning}')
    )
    self.assertEqual(
      [cell.strip() for cell in row.split('|')[3:-1]],
      [f'{100 * _mean(*cell):.1f}' for cell in cells],
    )

  @parameterized.parameters('fedmatch', 'fedsgd', 'one_place', 'zhang2020')
  def test_tables_of_baselines_are_those_of_presets(self, folder):
    with (_ROOT / 'tff_semifl/experiment/presets.csv').open() as file:
      presets = {row['name']: row['accuracy'] for row in csv.DictReader(file)}
    text = (_ROOT / f'tff_semifl/baselines/{folder}/README.md').read_text()
    header, _, *rows = (
      text[text.index('| preset |') :].split('\n\n')[0].split('\n')
    )
    columns = [cell.strip(' `') for cell in header.split('|')[2:-1]]
    self.assertNotEmpty(rows)
    for row in filter(None, rows):
      name, *cells = (cell.strip(' `') for cell in row.split('|')[1:-1])
      joint = '_' if '/' in name else '/'
      names = [f'{name}{joint}{column}' for column in columns]
      if columns == ['accuracy']:
        names = [name]
      self.assertEqual([presets[each] for each in names], cells, name)

  def test_a_row_by_its_definition(self):
    def last(name, column='test/accuracy'):
      return np.array(
        [
          float(rows[-1][column])
          for rows in results_pages.read_runs('cifar10_1000_iid', name).values()
        ]
      )

    def show(values):
      return f'{values.mean():.1%} ({100 * values.std(ddof=1):.1f})'

    ours = last('batch_label_semifl')
    best = last('batch_label_semifl', 'test/best_accuracy')
    points = 100 * (ours - last('semifl'))
    error = points.std(ddof=1) / 3**0.5
    self.assertIn(
      f'`batch_label_semifl` | 3 | {show(ours)} | {show(best)}'
      f' | {points.mean():+.1f} ± {error:.1f} |',
      results_pages.fill_in('<!-- runs cifar10_1000_iid -->\n<!-- end -->'),
    )
