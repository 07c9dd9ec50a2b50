# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading results from a table of metrics."""

import pathlib

from absl.testing import absltest

from tff_semifl.files import durable_files
from tff_semifl.runs import metrics_table

_HEADER = 'round,test/accuracy,test/best_accuracy,server/loss,seconds\n'


class ResultsTest(absltest.TestCase):
  def _read(self, text):
    file = self.create_tempfile('metrics.csv', text)
    return metrics_table.read_results(pathlib.Path(file.full_path))

  def test_last_round_and_minutes_of_all(self):
    found = self._read(
      f'{_HEADER}0,0.25,0.25,2.5,30\n1,0.75,0.75,1.5,10\n2,0.5,0.75,1,20\n'
    )
    # 30 + 10 + 20 seconds.
    self.assertEqual(found, metrics_table.Results(2, 0.5, 0.75, 1.0))

  def test_validation_in_place_of_the_test(self):
    text = (
      'round,seconds,validation/accuracy,validation/loss,'
      'validation/best_accuracy\n0,30,0.75,0.5,0.75\n1,60,0.5,0.625,0.75\n'
    )
    self.assertEqual(self._read(text), metrics_table.Results(1, 0.5, 0.75, 1.5))
    file = self.create_tempfile('metrics.csv', text)
    self.assertEqual(
      metrics_table.read_validation(pathlib.Path(file.full_path)),
      metrics_table.Validation(0.625, 0.5, 1.5),
    )

  def test_tested_runs_have_no_validation(self):
    file = self.create_tempfile('metrics.csv', f'{_HEADER}0,0.2,0.2,2.5,30\n')
    with self.assertRaisesRegex(
      durable_files.OutputError, 'no column validation/loss'
    ):
      metrics_table.read_validation(pathlib.Path(file.full_path))

  def test_no_round_yet(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for found in (
      metrics_table.read_results(folder / 'none'),
      self._read(_HEADER),
    ):
      self.assertEqual(found, metrics_table.Results(-1, 0, 0, 0))

  def test_something_else_is_named(self):
    for text, message in (
      ('', 'is no table of metrics'),
      (f'{_HEADER}0,high,0.2,1,3\n', 'has no column test/accuracy'),
      ('round,test/accuracy\n0,0.5\n', 'has no column test/best_accuracy'),
    ):
      with self.assertRaisesRegex(
        durable_files.OutputError, f'metrics.csv {message}'
      ):
        self._read(text)


if __name__ == '__main__':
  absltest.main()
