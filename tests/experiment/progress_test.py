# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the lines of a run, its log, and the log of TensorBoard."""

import math
import pathlib
import re

from absl import logging
from absl.testing import absltest
import numpy as np
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.plugins.hparams import metadata
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


class TensorBoardLogTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._logdir = self._folder / 'logdir'

  def _start(
    self, first_round=0, rounds=(), hparams=None, figures=(), **columns
  ):
    """Starts a log; the accuracy in the table shows the round."""
    log = progress.TensorBoardLog(self._logdir)
    rounds = np.array(rounds)
    metrics = {'round': rounds, 'test/accuracy': rounds / 8, **columns}
    log.start(first_round, metrics, hparams or {'seed': 0}, figures)
    return log

  def _open_tensorboard(self):
    return plugin_event_accumulator.EventAccumulator(
      str(self._logdir), size_guidance={}, tensor_size_guidance={'scalars': 0}
    ).Reload()

  def _read(self, tag):
    """Returns steps and values of a tag."""
    return [
      (event.step, tf.make_ndarray(event.tensor_proto).item())
      for event in self._open_tensorboard().Tensors(tag)
    ]

  def _run(self, first_round, last_round, num_in_table):
    """Reports rounds to a log."""
    log = self._start(first_round, range(num_in_table))
    for number in range(first_round, last_round + 1):
      log.show_round(number, some_metrics.create(number / 8, np.nan, 1.0))
      # Each is there at once.
      self.assertEqual(
        self._read('test/accuracy'), [(n, n / 8) for n in range(number + 1)]
      )

  def test_resumed_run_has_one_curve(self):
    self._run(0, 5, 0)
    # Killed when round 5 was in the table, but not saved: it is run again.
    self._run(5, 7, 6)
    self.assertLen(list(self._logdir.iterdir()), 1)
    tags = self._open_tensorboard().Tags()['tensors']
    self.assertContainsSubset(['server/loss', 'seconds'], tags)
    self.assertNotIn('client/label_ratio', tags)

  def test_hparams_are_the_flags(self):
    self._start(
      hparams={
        'task': 'digits',
        'seed': 3,
        'gray': True,
        'data_dir': None,
        'sizes': [1, 2],
      }
    )
    summary = self._open_tensorboard().SummaryMetadata(
      metadata.SESSION_START_INFO_TAG
    )
    hparams = metadata.parse_session_start_info_plugin_data(
      summary.plugin_data.content
    ).hparams
    self.assertSameElements(hparams, ['task', 'seed', 'gray', 'sizes'])
    self.assertEqual(hparams['task'].string_value, 'digits')
    self.assertEqual(hparams['seed'].number_value, 3)
    self.assertTrue(hparams['gray'].bool_value)
    self.assertEqual(hparams['sizes'].string_value, '[1, 2]')


if __name__ == '__main__':
  absltest.main()
