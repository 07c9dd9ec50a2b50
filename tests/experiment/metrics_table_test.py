# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the table of metrics: writing, reading, and summaries."""

import asyncio
import collections
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import metrics_table
from tff_semifl.files import durable_files
from tff_semifl.results import sweep_table


class MetricsFileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, 'metrics.csv')

  def _release(self, *rows):
    table = experiment_folder.MetricsFile(self.path)
    for key, value in rows:
      test = collections.OrderedDict(loss=value)
      asyncio.run(table.release(collections.OrderedDict(test=test), key))

  def test_row_replaces_those_of_its_round_and_of_later_ones(self):
    self._release((0, 0.5), (1, 0.25), (2, 1.0), (3, 2.0))
    self._release((2, 0.125))
    self.assertEqual(
      self.path.read_text().split(),
      ['round,test/loss', '0,0.5', '1,0.25', '2,0.125'],
    )

  def test_what_was_not_measured_is_an_empty_cell(self):
    self._release((0, float('nan')), (1, 0.25), (2, np.float32('nan')))
    expected = 'round,test/loss\n0,\n1,0.25\n2,\n'
    self.assertEqual(self.path.read_bytes().decode(), expected)
    # The rows of earlier rounds are read and written again.
    self._release((2, 0.125))
    self.assertEqual(
      self.path.read_bytes().decode(), expected.replace('2,', '2,0.125')
    )
    np.testing.assert_array_equal(
      metrics_table.read_metrics(self.path)['test/loss'],
      [np.nan, 0.25, 0.125],
    )

  def test_columns_that_older_rows_lack(self):
    self.path.write_text('round,test/loss\n0,0.5\n')
    table = experiment_folder.MetricsFile(self.path)
    asyncio.run(
      table.release(
        collections.OrderedDict(
          test=collections.OrderedDict(loss=0.25, new=float('nan'))
        ),
        1,
      )
    )
    self.assertEqual(
      self.path.read_text().split(),
      ['round,test/loss,test/new', '0,0.5,', '1,0.25,'],
    )


_HEADER = 'round,test/accuracy,test/best_accuracy,test/loss,seconds\n'


class ResultsTest(absltest.TestCase):
  def _read(self, text):
    file = self.create_tempfile('metrics.csv', text)
    return sweep_table.read_results(pathlib.Path(file.full_path))

  def test_last_round_and_minutes_of_all(self):
    found = self._read(
      f'{_HEADER}0,0.25,0.25,2.5,30\n1,0.75,0.75,1.5,10\n2,0.5,0.75,1,20\n'
    )
    self.assertEqual(found, sweep_table.Results(2, 0.5, 0.75, 1, 1.0))

  def test_validation_in_place_of_the_test(self):
    text = (
      'round,seconds,validation/accuracy,validation/loss,'
      'validation/best_accuracy\n0,30,0.75,0.5,0.75\n1,60,0.5,0.625,0.75\n'
    )
    self.assertEqual(
      self._read(text), sweep_table.Results(1, 0.5, 0.75, 0.625, 1.5)
    )

  def test_no_round_yet(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for found in (
      sweep_table.read_results(folder / 'none'),
      self._read(_HEADER),
    ):
      self.assertEqual(found, sweep_table.Results(-1, 0, 0, 0, 0))

  def test_something_else_is_named(self):
    for text, message in (
      ('test/accuracy\n0.5\n', 'is no table of metrics'),
      (f'{_HEADER}0,high,0.2,1,3\n', 'has no column test/accuracy'),
      ('round,test/accuracy\n0,0.5\n', 'has no column test/best_accuracy'),
    ):
      with self.assertRaisesRegex(
        durable_files.OutputError, f'metrics.csv {message}'
      ):
        self._read(text)


if __name__ == '__main__':
  absltest.main()
