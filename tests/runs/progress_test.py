# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the lines of a run, and of its log."""

import os
import pathlib
import re

from absl import logging
from absl.testing import absltest

from tests.runs import some_metrics
from tff_semifl.files import durable_files
from tff_semifl.runs import progress

_TIME = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} '


class NarrationTest(absltest.TestCase):
  def _describe(self, *rounds):
    narration = progress.Narration(10)
    narration.start(0)
    return [narration.describe_round(*each) for each in rounds]

  def test_time_left_is_that_of_rounds_without_compilation(self):
    # Rounds 0 and 1 compile the parts of server and clients. The next two take
    # 4 seconds on average, and seven are left.
    self.assertEqual(
      self._describe(
        (0, some_metrics.create(0.25, float('nan'), 300.0)),
        (1, some_metrics.create(0.5, 0.125, 500.0)),
        (2, some_metrics.create(0.5, 1.0, 3.0)),
        (3, some_metrics.create(0.625, 1.0, 5.0)),
      ),
      [
        'round 0/10, accuracy 25.0%',
        'round 1/10, accuracy 50.0%, pseudo-labeled 12.5%',
        'round 2/10, accuracy 50.0%, pseudo-labeled 100.0%',
        'round 3/10, accuracy 62.5%, pseudo-labeled 100.0%, 00:28 left',
      ],
    )

  def test_clients_that_train_on_all_labels_are_no_news(self):
    lines = self._describe(
      *((n, some_metrics.create(0.25, 1.0, 3.0)) for n in range(2))
    )
    self.assertEqual(lines[1], 'round 1/10, accuracy 25.0%')

  def test_rejected_clients_without_whom_nobody_is_left(self):
    metrics = some_metrics.create(0.25, 0.5, 3.0)
    for counts, is_said in (((3, 0), True), ((3, 2), False), ((0, 0), False)):
      num_rejected, num_participating = counts
      client = metrics.client._replace(
        num_rejected=num_rejected, num_participating=num_participating
      )
      [line] = self._describe((0, metrics._replace(client=client)))
      self.assertEqual('3 clients rejected' in line, is_said)

  def test_rows_of_several_rounds(self):
    # Rounds 4 to 6 take 6 seconds, and those after them 9: four are left, then
    # one.
    lines = self._describe(
      *((n, some_metrics.create(0, 0, n)) for n in (3, 6, 9))
    )
    self.assertNotIn('left', lines[0])
    self.assertEndsWith(lines[1], ', 00:08 left')
    self.assertEndsWith(lines[2], ', 00:02 left')

  def test_resumed_and_complete_runs_say_so(self):
    self.assertEqual(
      progress.Narration(10, ['a fact']).start(4),
      ['resumed after round 3', 'a fact', 'compiling and running round 4'],
    )
    self.assertEqual(
      progress.Narration(10, ['a fact']).start(11),
      ['was complete after round 10; nothing to train'],
    )


class LogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path, 'log.txt')

  def _lines(self):
    """Returns the lines without their times, which all have."""
    lines = self._path.read_text().splitlines()
    for line in lines:
      self.assertRegex(line, f'^{_TIME}')
    return [re.sub(f'^{_TIME}', '', line) for line in lines]

  def test_lines_and_warnings_while_it_is_open_are_appended(self):
    with self.assertLogs('absl'):
      logging.warning('before')
      for text in ('first', 'second'):
        with progress.open_log(self._path) as write:
          write(text)
          logging.warning('%s is changed', 'a file')
      logging.warning('after')
    warning = 'WARNING a file is changed'
    self.assertEqual(
      self._lines(), ['INFO first', warning, 'INFO second', warning]
    )

  def test_what_ends_the_run(self):
    for error in (ValueError('diverged'), KeyboardInterrupt('SIGTERM')):
      with self.assertRaises(type(error)):
        with progress.open_log(self._path):
          raise error
    self.assertEqual(
      self._lines(),
      ['ERROR ended by ValueError: diverged', 'ERROR ended by SIGTERM'],
    )

  def test_file_that_cannot_be_written(self):
    os.mkfifo(self._path)
    with self.assertRaisesRegex(durable_files.OutputError, 'log.txt is a FIFO'):
      progress.open_log(self._path).__enter__()
    self._path.unlink()
    # All writes fail, as on a full disk.
    self._path.symlink_to('/dev/full')
    with self.assertRaisesRegex(durable_files.OutputError, 'is a device'):
      progress.open_log(self._path).__enter__()


if __name__ == '__main__':
  absltest.main()
