# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the public names: the list, imports and uses."""

import doctest
import re
import subprocess
import sys

from absl.testing import absltest
import pytest

from tests.repository import source_tree
import tff_semifl as sfl

_PAGE = source_tree.PROJECT_ROOT / 'docs' / 'api.md'
_PAGE_ON_EXTENDING = source_tree.PROJECT_ROOT / 'docs' / 'extending.md'


class PublicNamesTest(absltest.TestCase):
  def test_each_is_there_and_says_what_it_is(self):
    self.assertContainsSubset(sfl.__all__, dir(sfl))
    for name in sfl.__all__:
      with self.subTest(name):
        value = getattr(sfl, name)
        if not isinstance(value, dict):
          self.assertNotEmpty(value.__doc__)

  def test_import_takes_nothing_along(self):
    code = (
      'import sys; before = set(sys.modules); import tff_semifl;'
      ' print(*sorted({m.split(".")[0] for m in sys.modules.keys() - before}))'
    )
    loaded = subprocess.run(
      [sys.executable, '-c', code],
      cwd=source_tree.PROJECT_ROOT,
      capture_output=True,
      text=True,
      check=True,
    ).stdout.split()
    self.assertIn('tff_semifl', loaded)
    for name in loaded:
      self.assertIn(name, {*sys.stdlib_module_names, 'tff_semifl'})

  def test_each_is_in_a_program_that_is_run(self):
    examples = (source_tree.PROJECT_ROOT / 'examples').glob('*.py')
    programs = [path.read_text() for path in examples]
    programs.extend(
      line
      for line in _PAGE.read_text().splitlines()
      if line.lstrip().startswith(('>>>', '...'))
    )
    used = set(re.findall(r'\bsfl\.(\w+)', '\n'.join(programs)))
    self.assertCountEqual(used, sfl.__all__)

  def test_each_is_in_the_api_reference(self):
    rows = re.findall(r'^\| (`.*?) \|', _PAGE.read_text(), re.MULTILINE)
    named = re.findall(r'`(\w+)`', ' '.join(rows))
    self.assertCountEqual(named, sfl.__all__)

  def test_each_group_of_the_api_reference_has_an_example(self):
    _, *groups = _PAGE.read_text().split('\n## ')
    self.assertGreater(len(groups), 8)
    for group in groups:
      with self.subTest(group.partition('\n')[0]):
        self.assertIn('>>> ', group)

  @pytest.mark.slow
  def test_pages_are_true(self):
    for page, num_examples in ((_PAGE, 50), (_PAGE_ON_EXTENDING, 4)):
      with self.subTest(page.name):
        failed, tried = doctest.testfile(
          str(page),
          module_relative=False,
          optionflags=doctest.NORMALIZE_WHITESPACE,
        )
        self.assertEqual(failed, 0)
        self.assertGreater(tried, num_examples)
