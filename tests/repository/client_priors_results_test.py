# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that tables of client priors on features are those of their runs."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from benchmarks import client_priors_summaries

_RESULTS = pathlib.Path(__file__).parents[2] / 'docs' / 'results'

_CELLS = client_priors_summaries.summarize_cells
_INPUTS = client_priors_summaries.summarize_inputs


class ClientPriorsResultsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('digits_client_priors_on_features', 'runs.csv', _CELLS),
    ('digits_client_priors_on_features', 'runs_10.csv', _CELLS),
    ('cifar10_client_priors_on_features', 'runs.csv', _CELLS),
    (
      'cifar10_client_priors_on_features',
      'runs_10000.csv',
      _CELLS,
    ),
    (
      'fashion_mnist_client_priors_on_features',
      'runs.csv',
      _CELLS,
    ),
    ('client_priors_inputs', 'runs.csv', _INPUTS),
    ('client_priors_inputs', 'cases.csv', _INPUTS),
  )
  def test_page_has_the_table(self, page, runs, summarize):
    text = (_RESULTS / page / 'README.md').read_text()
    rows = client_priors_summaries.read_rows(_RESULTS / page / runs)
    self.assertNotEmpty(rows)
    for line in summarize(rows):
      self.assertIn(line, text)


if __name__ == '__main__':
  absltest.main()
