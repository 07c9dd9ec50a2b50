# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of `make audit` for each way in which pip-audit ends.

pip-audit itself would ask the network. In its place is a program that ends as
pip-audit does: with 1 both if something was found and if it could not ask, but
with a report only in the first case.
"""

import os
import pathlib
import subprocess

from absl.testing import absltest
from absl.testing import parameterized

from tests.repository import source_tree

_REPORT = 'pillow 11.0.0 PYSEC-2026-1'
_ANSWER = 'No known vulnerabilities found'
_ERROR = 'ConnectionError: nobody there'
_PROGRAM = """#!/bin/sh
echo "$@" >{folder}/arguments
for argument; do
  case "$argument" in --output=*) report="${{argument#--output=}}";; esac
done
{end}
"""


class AuditTest(parameterized.TestCase):
  def _audit(self, end):
    """Returns exit code and output of an audit in which pip-audit ends so."""
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    program = self._folder / 'pip-audit'
    program.write_text(_PROGRAM.format(folder=self._folder, end=end))
    program.chmod(0o755)
    process = subprocess.run(
      [source_tree.PROJECT_ROOT / 'audit.sh'],
      env={**os.environ, 'PATH': f'{self._folder}:{os.environ["PATH"]}'},
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      timeout=60,
    )
    return process.returncode, process.stdout

  @parameterized.parameters(
    (f'echo {_ANSWER} >&2', 0, f'audit: {_ANSWER}.\n'),
    (f'echo {_REPORT} >"$report"; exit 1', 1, f'{_REPORT}\n'),
    (
      f'echo Traceback >&2; echo {_ERROR} >&2; exit 1',
      3,
      f'audit: not done: {_ERROR}\n',
    ),
  )
  def test_nothing_found_something_found_and_not_done(self, end, code, shown):
    self.assertEqual(self._audit(end), (code, shown))

  def test_all_locks_are_audited_and_unknown_packages_are_not_clean(self):
    self._audit('')
    arguments = (self._folder / 'arguments').read_text().split()
    # Beside them may be files of a user.
    locks = {
      path.name
      for path in source_tree.PROJECT_ROOT.glob('*.txt')
      if '--hash=' in path.read_text()
    }
    self.assertNotEmpty(locks)
    self.assertContainsSubset(
      {'--strict', *(f'--requirement={lock}' for lock in locks)}, arguments
    )


if __name__ == '__main__':
  absltest.main()
