# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a run's printed lines, its log, and the log of TensorBoard."""

import asyncio
import math
import pathlib
import re

from absl import logging
from absl.testing import absltest
from tensorboard.backend.event_processing import plugin_event_accumulator
import tensorflow as tf

from tests.experiment import some_metrics
from tff_semifl.experiment import progress

_TIME = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} '


class DescribeRoundTest(absltest.TestCase):
  def test_label_ratio_unless_it_is_1_or_undefined(self):
    for ratio, said in (
      (math.nan, ''),
      (0.125, ', pseudo-labeled 12.5%'),
      (1.0, ''),
    ):
      metrics = some_metrics.create(0.25, ratio, 3.0)
      self.assertEqual(
        progress.describe_round(1, 10, metrics),
        f'round 1/10, accuracy 25.0%{said}',
      )


class LogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path, 'log.txt')

  def _lines(self):
    """The lines without the time at their beginning."""
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


class TensorBoardLogTest(absltest.TestCase):
  def test_has_what_was_measured_at_once(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    log = progress.TensorBoardLog(folder)
    for number in range(2):
      metrics = some_metrics.create(number / 8, math.nan, 1.0)
      asyncio.run(log.release(metrics, number))
    shown = plugin_event_accumulator.EventAccumulator(str(folder)).Reload()
    self.assertEqual(
      [
        (event.step, tf.make_ndarray(event.tensor_proto).item())
        for event in shown.Tensors('test/accuracy')
      ],
      [(0, 0.0), (1, 0.125)],
    )
    self.assertNotIn('client/label_ratio', shown.Tags()['tensors'])


if __name__ == '__main__':
  absltest.main()
