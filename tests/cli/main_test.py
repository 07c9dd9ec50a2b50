# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the command `tff-semifl`; wheel_test.py tests it when installed."""

import contextlib
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from launch import __main__ as main
from tests.repository import source_tree
import tff_semifl
from tff_semifl.cli import command_line
from tff_semifl.settings import references


def _run(*arguments):
  """Exit code, output and errors of a command that starts nothing."""
  output, errors = io.StringIO(), io.StringIO()
  with (
    mock.patch.object(sys, 'argv', ['tff-semifl', *arguments]),
    contextlib.redirect_stdout(output),
    contextlib.redirect_stderr(errors),
  ):
    try:
      main.main()
    except SystemExit as end:
      return end.code, output.getvalue(), errors.getvalue()
  raise AssertionError('It did not end.')


class MainTest(parameterized.TestCase):
  def test_lists_programs(self):
    code, listed, errors = _run('--help')
    self.assertEqual((code, errors), (0, ''))
    self.assertStartsWith(
      listed, 'usage: python -m launch.PROGRAM [--flag=value ...]\n'
    )
    for name in main.PROGRAMS:
      module = (source_tree.PROJECT_ROOT / 'launch' / f'{name}.py').read_text()
      (line,) = re.findall(f'^  {name}: (.+)$', listed, re.MULTILINE)
      self.assertRegex(module, f'\nr?"""{re.escape(line)}\n')
    self.assertEqual(_run(), (1, '', listed))
    code, output, errors = _run('trian', 'semifl')
    self.assertEqual((code, output), (1, ''))
    self.assertEqual(errors, f"there is no program 'trian'\n{listed}")

  @parameterized.parameters([['launch.train']], [['launch', 'train']])
  def test_interrupt_while_tensorflow_is_imported(self, command):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'tensorflow.py').write_text(
      'import os, signal, time\n'
      'os.kill(os.getpid(), signal.SIGINT)\n'
      'time.sleep(60)\n'
    )
    completed = subprocess.run(
      [sys.executable, '-m', *command, 'semifl'],
      env={**os.environ, 'PYTHONPATH': str(folder)},
      cwd=source_tree.PROJECT_ROOT,
      capture_output=True,
      text=True,
      timeout=50,
    )
    self.assertEqual(completed.returncode, 128 + signal.SIGINT)
    self.assertEqual(completed.stdout, '')
    self.assertEqual(completed.stderr.strip(), 'interrupted')

  @parameterized.parameters([('--version',)], [('train', '--version')])
  def test_says_the_version(self, arguments):
    expected = f'tff-semifl {tff_semifl.__version__}\n'
    self.assertEqual(_run(*arguments), (0, expected, ''))

  def test_commands_are_those_that_users_type(self):
    text = 'Say python -m launch.train semifl.'
    self.assertEqual(command_line.spell_commands(text), text)
    with mock.patch.object(references, 'is_installed', lambda: True):
      self.assertEqual(
        command_line.spell_commands(text), 'Say tff-semifl train semifl.'
      )


if __name__ == '__main__':
  absltest.main()
