# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the real program's output in a terminal and in TensorBoard."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

from absl.testing import absltest
import pytest
from tensorboard.backend.event_processing import plugin_event_accumulator

from tests import forked_programs
from tests.launch import programs

_ROOT = pathlib.Path(__file__).parents[2]


def _read_terminal(terminal):
  """Reads a program's output in its terminal, until the program ends."""
  text = b''
  while True:
    try:
      text += os.read(terminal, 10_000)
    except OSError:  # The other end is closed.
      return text.decode()


@pytest.mark.slow
class ObservingTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    self._experiment = pathlib.Path(self._folder, 'small')
    # TensorFlow must log as little as in the program, although libraries that
    # are imported here change this.
    self._environment = dict(os.environ)
    self._environment.pop('TF_CPP_MIN_LOG_LEVEL', None)

  def test_quiet_program_says_what_came_out(self):
    completed = subprocess.run(
      [
        *(sys.executable, '-m'),
        *programs.small_training(self._folder, '--verbosity=-1'),
      ],
      cwd=_ROOT,
      env=self._environment,
      capture_output=True,
      text=True,
      timeout=200,
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    self.assertEqual(completed.stderr, '')
    self.assertIn('test accuracy after round 2: ', completed.stdout)
    shown = plugin_event_accumulator.EventAccumulator(
      str(self._experiment / 'logdir')
    ).Reload()
    self.assertLen(shown.Tensors('test/accuracy'), 3)

  def test_one_line_in_a_terminal(self):
    terminal, program_end = pty.openpty()
    size = struct.pack('HHHH', 30, 100, 0, 0)
    fcntl.ioctl(program_end, termios.TIOCSWINSZ, size)
    nothing = self.enter_context(open(os.devnull, 'wb'))
    process = forked_programs.start(
      *programs.small_training(self._folder, '--notensorboard'),
      stdout=nothing,
      stderr=program_end,
    )
    os.close(program_end)
    text = _read_terminal(terminal)
    self.assertEqual(process.wait(100), 0, text)
    # The terminal makes two characters of each line break.
    [fact, left_out, line, nothing] = text.split('\r\n')
    self.assertIn('over 360 images', fact)
    self.assertIn('have no client', left_out)
    self.assertEmpty(nothing)
    states = line.split('\r')
    self.assertIn('small: compiling and running round 0 |', states[1])
    self.assertRegex(
      states[-1],
      r'^small: round 2/2, accuracy \d+\.\d%, pseudo-labeled \d+\.\d% \|',
    )
    self.assertTrue(any(re.search('round 1/2', state) for state in states))
    self.assertLessEqual(max(map(len, states)), 100)
    self.assertFalse((self._experiment / 'logdir').exists())


if __name__ == '__main__':
  absltest.main()
