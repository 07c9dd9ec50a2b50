# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the table of metrics."""

import asyncio
import collections
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.files import durable_files
from tff_semifl.runs import metrics_table


class MetricsFileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, 'metrics.csv')

  def _release(self, *rows):
    table = metrics_table.MetricsFile(self.path)
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
    table = metrics_table.MetricsFile(self.path)
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

  def test_what_a_kill_left_is_removed(self):
    self._release((0, 0.5))
    leftover = self.path.with_name('metrics.temporary')
    leftover.write_text('round,te')
    self._release((1, 0.25))
    self.assertEqual(list(self.path.parent.iterdir()), [self.path])
    self.assertLen(self.path.read_text().split(), 3)

  @parameterized.named_parameters(
    ('of_zeros', bytes(100)),
    ('row_without_a_round', b'round,test/loss\nx,0.5\n'),
  )
  def test_damaged_file_is_named_and_left_alone(self, content):
    self.path.write_bytes(content)
    with self.assertRaisesRegex(
      durable_files.OutputError, f'^{self.path} is damaged: .*remove it'
    ):
      self._release()
    self.assertEqual(self.path.read_bytes(), content)


if __name__ == '__main__':
  absltest.main()
