# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the ends of programs: exit codes and output."""

import os
import pathlib
import subprocess
import sys
import tempfile

from absl.testing import absltest
from absl.testing import parameterized

from tests.repository import source_tree

_PROGRAM = """
import atexit, os, signal
from tests.settings import example_parts
from tff_semifl.cli import command_line, program

def main(_):
  {body}

program.run(
  main, example_parts.Oven(), interrupted='interrupted; and so on'
)
"""
_INTERRUPT = 'os.kill(os.getpid(), signal.SIGINT)'
_LAST_LINE = 'interrupted; and so on'


class ProgramTest(parameterized.TestCase):
  def _run(self, body, **options):
    """Runs a program that needs no TensorFlow."""
    path = pathlib.Path(self.create_tempdir().full_path, 'some_program.py')
    path.write_text(_PROGRAM.format(body=body))
    options = options or {'capture_output': True}
    return subprocess.run(
      [sys.executable, path],
      env={**os.environ, 'PYTHONPATH': str(source_tree.PROJECT_ROOT)},
      text=True,
      timeout=100,
      **options,
    )

  @parameterized.parameters(
    ("raise command_line.UsageError('bad')", 'bad'),
    (_INTERRUPT, f'\n{_LAST_LINE}'),
  )
  def test_last_line_is_last_in_a_file_of_both(self, end, expected):
    # Buffered as files are by default, whatever PYTHONUNBUFFERED says.
    body = f"""
  import sys
  sys.stdout.reconfigure(write_through=False)
  print('before')
  {end}"""
    with tempfile.TemporaryFile('w+') as file:
      self._run(body, stdout=file, stderr=file)
      file.seek(0)
      self.assertEqual(file.read(), f'before\n{expected}\n')

  @parameterized.named_parameters(
    ('as_it_is', _INTERRUPT),
    ('sigterm', _INTERRUPT.replace('INT', 'TERM'), 143),
    (
      'made_a_flag_error_of',
      f"""
  try:
    {_INTERRUPT}
  except KeyboardInterrupt:
    raise command_line.UsageError('of a file half written') from None""",
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
    # The first line is kept until the end; the second is written at once.
    ('a_line', "print('unread')"),
    ('many', "print('unread\\n' * 100_000)", 1),
  )
  def test_output_that_nobody_reads_is_no_error(self, body, status=0):
    read_end, write_end = os.pipe()
    os.close(read_end)
    completed = self._run(
      f"""
  import sys
  sys.stdout.reconfigure(write_through=False)
  {body}""",
      stdout=write_end,
      stderr=subprocess.PIPE,
    )
    os.close(write_end)
    self.assertEqual(completed.returncode, status)
    self.assertEqual(completed.stderr, '')

  def test_other_errors_are_shown(self):
    completed = self._run(
      """
  atexit.register(lambda: print(signal.getsignal(signal.SIGINT).name))
  raise TypeError('a mistake')"""
    )
    self.assertEqual(completed.returncode, 1)
    self.assertIn('TypeError: a mistake', completed.stderr)
    self.assertNotIn('\ninterrupted', completed.stderr)
    # Ctrl-C while Python ends is not another error.
    self.assertEqual(completed.stdout, 'SIG_DFL\n')


if __name__ == '__main__':
  absltest.main()
