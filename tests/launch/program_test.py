# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of how programs end."""

import pathlib
import signal
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized

_ROOT = pathlib.Path(__file__).parents[2]
_PROGRAM = """
import os, signal
from launch import program

def main():
  {body}

program.run(main)
"""
_INTERRUPT = 'os.kill(os.getpid(), signal.SIGINT)'


class ProgramTest(parameterized.TestCase):
  def _run(self, body):
    return subprocess.run(
      [sys.executable, '-c', _PROGRAM.format(body=body)],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      timeout=100,
      # Tests may run in a background job, which ignores the signal.
      preexec_fn=lambda: signal.signal(
        signal.SIGINT, signal.default_int_handler
      ),
    )

  @parameterized.named_parameters(
    ('as_it_is', _INTERRUPT),
    (
      'made_another_error_of',
      f"""
  try:
    {_INTERRUPT}
  except KeyboardInterrupt:
    raise TypeError('of C++ code') from None""",
    ),
  )
  def test_interrupt(self, body):
    completed = self._run(body)
    self.assertEqual(completed.returncode, 130, completed.stderr)
    self.assertEqual(
      completed.stderr.strip(),
      'interrupted; the same command goes on from the last complete round',
    )

  def test_other_errors_are_shown(self):
    completed = self._run("raise TypeError('a mistake')")
    self.assertEqual(completed.returncode, 1)
    self.assertIn('TypeError: a mistake', completed.stderr)
    self.assertNotIn('interrupted', completed.stderr)


if __name__ == '__main__':
  absltest.main()
