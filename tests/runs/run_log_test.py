# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the log of a run."""

import os
import pathlib
import re

from absl import logging
from absl.testing import absltest

from tests.runs import some_metrics
from tff_semifl.files import durable_files
from tff_semifl.runs import run_log

_TIME = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} '


class RunLogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path, 'log.txt')

  def _lines(self):
    """Returns the lines without their times, which all have."""
    lines = self._path.read_text().splitlines()
    for line in lines:
      self.assertRegex(line, f'^{_TIME}')
    return [re.sub(f'^{_TIME}', '', line) for line in lines]

  def test_lines_of_a_resumed_run_come_after_the_first(self):
    with run_log.RunLog(self._path, 10) as log:
      log.start(0)
      log.show_round(0, some_metrics.create(0.25, 0.0, 3.0))
    with run_log.RunLog(self._path, 10) as log:
      log.start(1)
      log.show_round(1, some_metrics.create(0.5, 0.125, 5.0))
    self.assertEqual(
      self._lines(),
      [
        'INFO compiling and running round 0',
        'INFO round 0/10, accuracy 25.0%, pseudo-labeled 0.0%',
        'INFO resumed after round 0',
        'INFO compiling and running round 1',
        'INFO round 1/10, accuracy 50.0%, pseudo-labeled 12.5%',
      ],
    )

  def test_warnings_while_it_is_open(self):
    with self.assertLogs('absl'):
      logging.warning('before')
      with run_log.RunLog(self._path, 10):
        logging.warning('%s is changed', 'a file')
      logging.warning('after')
    self.assertEqual(self._lines(), ['WARNING a file is changed'])

  def test_error_that_ends_the_run(self):
    with self.assertRaisesRegex(ValueError, 'diverged'):
      with run_log.RunLog(self._path, 10) as log:
        log.start(0)
        raise ValueError('diverged')
    self.assertEqual(self._lines()[1:], ['ERROR ended by ValueError: diverged'])

  def test_signal_that_ends_the_run(self):
    with self.assertRaises(KeyboardInterrupt):
      with run_log.RunLog(self._path, 10) as log:
        log.start(0)
        raise KeyboardInterrupt('SIGTERM')
    self.assertEqual(self._lines()[1:], ['ERROR ended by SIGTERM'])

  def test_file_that_cannot_be_written(self):
    os.mkfifo(self._path)
    with self.assertRaisesRegex(durable_files.OutputError, 'log.txt is a FIFO'):
      run_log.RunLog(self._path, 10).__enter__()
    self._path.unlink()
    with run_log.RunLog(self._path, 10) as log:
      # All writes to the log fail, as on a full disk.
      log._handler.stream.close()
      log._handler.stream = open('/dev/full', 'a')
      with self.assertRaisesRegex(
        durable_files.OutputError, 'cannot write .*log.txt: No space left'
      ):
        log.start(0)


if __name__ == '__main__':
  absltest.main()
