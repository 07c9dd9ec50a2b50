# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of references to objects outside of this package."""

import contextlib
import pathlib
import sys

from absl.testing import absltest

from tff_semifl.settings import references


class ReferencesTest(absltest.TestCase):
  def _write(self, name, text):
    folder = self.create_tempdir().full_path
    pathlib.Path(folder, f'{name}.py').write_text(text)
    self.enter_context(contextlib.chdir(folder))
    self.addCleanup(sys.path.remove, folder)

  def test_module_of_the_working_directory(self):
    self._write('some_module', 'NUMBER = 7')
    self.assertEqual(references.load('some_module:NUMBER'), 7)

  def test_what_is_not_there(self):
    for reference, message in (
      ('NUMBER', 'of the form package.module:NAME'),
      ('no_such_module:NUMBER', "cannot be imported: .*'no_such_module'"),
      ('math:tau_squared', 'module math has no tau_squared'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        references.load(reference)

  def test_mistake_in_the_module_is_not_hidden(self):
    self._write('wrong_module', 'import math\nNUMBER = math.tau_squared')
    with self.assertRaisesRegex(AttributeError, 'tau_squared'):
      references.load('wrong_module:NUMBER')

  def test_options_are_imported_when_looked_up(self):
    options = references.Options(
      'xml', {'parser': 'dom:Node', 'none': 'no_such_module:ONE', 'own': 3}
    )
    self.assertEqual(sorted(options), ['none', 'own', 'parser'])
    self.assertEqual(options['own'], 3)
    self.assertEqual(type(options['parser']).__name__, 'Node')
    self.assertIs(options['parser'], options['parser'])
    with self.assertRaises(ImportError):
      options['none']


if __name__ == '__main__':
  absltest.main()
