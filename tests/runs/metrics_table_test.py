# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that tables of metrics with any columns are read."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.runs import metrics_table


class MetricsTableTest(parameterized.TestCase):
  def _write(self, text):
    file = pathlib.Path(self.create_tempfile().full_path)
    file.write_text(text)
    return file

  def test_columns_are_those_of_the_file(self):
    metrics = metrics_table.read_metrics(
      self._write('round,test/accuracy,mine\n0,0.25,-3\n5,0.5,inf\n')
    )
    self.assertSameElements(metrics, ['round', 'test/accuracy', 'mine'])
    np.testing.assert_array_equal(metrics['round'], [0, 5])
    np.testing.assert_array_equal(metrics['test/accuracy'], [0.25, 0.5])
    np.testing.assert_array_equal(metrics['mine'], [-3, np.inf])

  def test_column_that_came_later_is_nan_before(self):
    metrics = metrics_table.read_metrics(
      self._write('round,later\n0,\n1,0.5\n')
    )
    np.testing.assert_array_equal(metrics['later'], [np.nan, 0.5])

  def test_column_of_something_else_is_left_out(self):
    metrics = metrics_table.read_metrics(
      self._write('round,lengths,loss\n0,"[1.0, 2.0]",0.5\n')
    )
    self.assertSameElements(metrics, ['round', 'loss'])

  def test_run_without_a_round(self):
    metrics = metrics_table.read_metrics(self._write('round,loss\n'))
    for name in ('round', 'loss'):
      self.assertEqual(metrics[name].shape, (0,))

  @parameterized.parameters(
    'accuracy\n0.5\n',
    'round,loss\n0\n',
    'round,loss\nfirst,0.5\n',
    'round,loss\n0.5,0.5\n',
    'round,loss\n-1,0.5\n',
  )
  def test_what_is_no_table_is_refused(self, text):
    file = self._write(text)
    with self.assertRaisesRegex(
      metrics_table.MetricsError, f'^{file} is no table of metrics$'
    ):
      metrics_table.read_metrics(file)

  def test_file_that_is_not_there(self):
    with self.assertRaisesRegex(
      metrics_table.MetricsError, '^cannot read nothing/a.csv: No such file'
    ):
      metrics_table.read_metrics(pathlib.Path('nothing/a.csv'))


if __name__ == '__main__':
  absltest.main()
