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
import atexit, hashlib, os, signal
from tff_semifl.launch import program

def main():
  {body}

program.run(main, interrupted='interrupted; and so on')
"""
_INTERRUPT = 'os.kill(os.getpid(), signal.SIGINT)'
_LAST_LINE = 'interrupted; and so on'
# Minutes in C code, from which Python's handlers wait to be called.
_LONG_CALL = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"


def _obey_interrupts():
  # Tests may run in a background job, which ignores the signal.
  signal.signal(signal.SIGINT, signal.default_int_handler)


class ProgramTest(parameterized.TestCase):
  def _run(self, body):
    return subprocess.run(
      [sys.executable, '-c', _PROGRAM.format(body=body)],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      timeout=100,
      preexec_fn=_obey_interrupts,
    )

  @parameterized.named_parameters(
    ('as_it_is', _INTERRUPT),
    ('sigterm', _INTERRUPT.replace('INT', 'TERM'), 143),
    (
      'made_a_flag_error_of',
      f"""
  try:
    {_INTERRUPT}
  except KeyboardInterrupt:
    raise program.FlagError('of a file half written') from None""",
    ),
    (
      'made_another_error_of',
      f"""
  try:
    {_INTERRUPT}
  except KeyboardInterrupt:
    raise TypeError('of C++ code') from None""",
    ),
  )
  def test_interrupt(self, body, status=130):
    completed = self._run(body)
    self.assertEqual(completed.returncode, status, completed.stderr)
    self.assertEqual(completed.stderr.strip(), _LAST_LINE)

  @parameterized.named_parameters(
    ('sigint', signal.SIGINT, 130), ('sigterm', signal.SIGTERM, 143)
  )
  def test_second_interrupt_ends_even_a_long_call_at_once(self, number, status):
    # The first may come before the call has begun: it is begun again then.
    body = f"""
  try:
    print('begun', flush=True)
    {_LONG_CALL}
  except KeyboardInterrupt:
    {_LONG_CALL}"""
    process = subprocess.Popen(
      [sys.executable, '-c', _PROGRAM.format(body=body)],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      preexec_fn=_obey_interrupts,
    )
    self.addCleanup(process.kill)
    self.assertEqual(process.stdout.readline(), 'begun\n')
    process.send_signal(number)
    with self.assertRaises(subprocess.TimeoutExpired):
      process.wait(1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=10)
    self.assertEqual(process.returncode, status)
    self.assertEqual(errors.strip(), _LAST_LINE)

  def test_other_errors_are_shown(self):
    completed = self._run(
      """
  atexit.register(lambda: print(signal.getsignal(signal.SIGINT).name))
  raise TypeError('a mistake')"""
    )
    self.assertEqual(completed.returncode, 1)
    self.assertIn('TypeError: a mistake', completed.stderr)
    self.assertNotIn('interrupted', completed.stderr)
    # Ctrl-C while Python ends is no further error.
    self.assertEqual(completed.stdout, 'SIG_DFL\n')


if __name__ == '__main__':
  absltest.main()
