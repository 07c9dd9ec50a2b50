# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that benchmarks measure the right thing; speed is not tested."""

import json
import os
import pathlib

from absl.testing import absltest
import pytest
import tensorflow as tf

from benchmarks import measure
from benchmarks import measurement
from tests import forked_programs
from tff_semifl import settings


class MeasurementTest(absltest.TestCase):
  def test_alternatives_take_turns_after_a_call_to_warm_up(self):
    now, calls = 0.0, []

    def call(name, *seconds):
      remaining = iter(seconds)

      def run():
        nonlocal now
        now += next(remaining)
        calls.append(name)

      return run

    seconds = measurement.time_alternately(
      {'a': call('a', 100, 1, 2), 'b': call('b', 200, 3, 4)},
      num_repetitions=2,
      clock=lambda: now,
    )
    self.assertEqual(calls, ['a', 'b', 'a', 'b', 'a', 'b'])
    self.assertEqual(seconds, {'a': [1, 2], 'b': [3, 4]})

  def test_ratios_are_of_repetitions(self):
    measured = measurement.Measurement(
      name='x',
      description='X',
      unit='s',
      values={'a': [1, 10, 2], 'b': [2, 30, 8]},
      compared_with='a',
    )
    self.assertEqual(measured.ratios('b'), [2, 3, 4])
    # Not 8 / 2, the ratio of the medians.
    self.assertEqual(
      measured.table().splitlines()[2:],
      ['| a | 2 | 1 | 10 | 1.00 |', '| b | 8 | 2 | 30 | 3.00 |'],
    )


class BenchmarkTest(absltest.TestCase):
  def test_file_that_cannot_be_written(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^output_file=/proc/nothing/benchmark.json: '
    ):
      measure.main(
        settings.change(
          measure.Measure(), {'output_file': '/proc/nothing/benchmark.json'}
        )
      )

  @pytest.mark.slow
  def test_the_real_program(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'new', 'all.json')
    completed = forked_programs.run(
      'benchmarks.measure',
      '--repetitions=2',
      '--benchmarks=population',
      f'--output_file={path}',
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    written = json.loads(path.read_text())
    self.assertEqual(written['machine']['tensorflow'], tf.__version__)
    self.assertEqual(
      written['machine']['num_cores'], len(os.sched_getaffinity(0))
    )
    (measured,) = written['measurements']
    first_line, *lines = completed.stdout.splitlines()
    self.assertStartsWith(first_line, written['machine']['processor'])
    for values in measured['values'].values():
      self.assertLen(values, 2)
      self.assertGreater(min(values), 0)
    table = measurement.Measurement(**measured).table()
    self.assertContainsSubset(table.splitlines(), lines)
