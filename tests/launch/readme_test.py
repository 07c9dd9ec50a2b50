# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the program in README."""

import contextlib
import io
import os
import pathlib
import re

from absl.testing import absltest
import pytest

from tests.repository import source_tree


@pytest.mark.slow
class ReadmeTest(absltest.TestCase):
  def test_program_in_python_trains_and_exports(self):
    readme = (source_tree.PROJECT_ROOT / 'README.md').read_text()
    (program,) = re.findall(r'```python\n(.*?)```', readme, re.DOTALL)
    self.assertLessEqual(len(program.splitlines()), 25)
    folder = self.create_tempdir().full_path
    output = io.StringIO()
    before = os.getcwd()
    os.chdir(folder)
    try:
      with contextlib.redirect_stdout(output):
        exec(compile(program, 'README.md', 'exec'), {})
    finally:
      os.chdir(before)
    self.assertRegex(output.getvalue(), r'^\d+\.\d%\n$')
    (experiment,) = (pathlib.Path(folder) / 'results').iterdir()
    for name in ('metrics.csv', 'export/saved_model.pb'):
      self.assertTrue((experiment / name).exists(), name)


if __name__ == '__main__':
  absltest.main()
