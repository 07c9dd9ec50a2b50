# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that tables of client priors on features are those of their runs."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from benchmarks import client_priors_runs
from benchmarks import client_priors_table

_RESULTS = pathlib.Path(__file__).parents[2] / 'docs' / 'results'


class ClientPriorsResultsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('digits_client_priors_on_features', 'runs.csv', client_priors_table),
    ('cifar10_client_priors_on_features', 'runs.csv', client_priors_table),
    (
      'cifar10_client_priors_on_features',
      'runs_10000.csv',
      client_priors_table,
    ),
    (
      'fashion_mnist_client_priors_on_features',
      'runs.csv',
      client_priors_table,
    ),
    ('client_priors_inputs', 'runs.csv', client_priors_runs),
    ('client_priors_inputs', 'cases.csv', client_priors_runs),
  )
  def test_page_has_the_table(self, page, runs, benchmark):
    text = (_RESULTS / page / 'README.md').read_text()
    rows = benchmark.read_rows(_RESULTS / page / runs)
    self.assertNotEmpty(rows)
    for line in benchmark.summarize(rows):
      self.assertIn(line, text)


if __name__ == '__main__':
  absltest.main()
