# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that numbers that pages quote are those of the recorded runs."""

import csv
import pathlib
import re
import statistics

from absl.testing import absltest
from absl.testing import parameterized

_ROOT = pathlib.Path(__file__).parents[2]
_RESULTS = _ROOT / 'docs' / 'results'


def _read(path):
  with path.open(newline='') as file:
    return list(csv.DictReader(file))


def _mean(page, experiment, row=-1):
  """Returns the mean accuracy of all seeds in a row of their metrics."""
  paths = sorted((_RESULTS / page).glob(f'{experiment}_seed*/metrics.csv'))
  return statistics.fmean(
    float(_read(path)[row]['test/accuracy']) for path in paths
  )


class QuotedResultsTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      '[digits](docs/results/digits.md#federated',
      # Clients begin with the model of the labels alone.
      ('digits_20_client_prior_sgd', 'client_prior_sgd_classes2', 0),
      ('digits_20_client_prior_sgd', 'client_prior_sgd_classes2'),
      ('digits_20_client_prior_sgd', 'client_prior_sgd_dirichlet01'),
      ('digits_20_client_prior_sgd', 'client_prior_sgd_iid'),
      None,
    ),
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
      [f'{100 * _mean(*cell):.1f}' if cell else '' for cell in cells],
    )

  def test_table_of_the_long_tail(self):
    rows = _read(_RESULTS / 'long_tailed_digits' / 'runs.csv')
    lines = (_ROOT / 'docs' / 'imbalance.md').read_text().splitlines()
    shown = [line for line in lines if re.match(r'\| (labels|SemiFL)', line)]
    expected = {}
    for row in sorted(rows, key=lambda row: int(row['seed'])):
      cells = expected.setdefault((row['trained_on'], row['server']), [])
      cells.append([f'{100 * float(row[c]):.1f}' for c in (*row,)[3:]])
    self.assertEqual(
      shown,
      [
        f'| {" | ".join((*key, *map(", ".join, zip(*cells, strict=True))))} |'
        for key, cells in expected.items()
      ],
    )


if __name__ == '__main__':
  absltest.main()
