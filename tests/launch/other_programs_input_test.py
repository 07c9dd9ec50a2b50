# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that bad flags of other programs give one line."""

import re

from absl.testing import absltest
from absl.testing import parameterized

from launch import __main__ as main
from tests.launch import programs


class OtherProgramsInputTest(parameterized.TestCase):
  @parameterized.parameters(*main.PROGRAMS)
  def test_help_is_no_error(self, name):
    completed = programs.run_module(f'launch.{name}', '--help')
    self.assertEqual(completed.returncode, 0, completed.stderr)
    self.assertEqual(completed.stderr, '')
    # The first line of help describes the program, and examples contain
    # backslashes at the ends of continued lines.
    self.assertIn(main.summarize(name).removesuffix('.'), completed.stdout)
    text = completed.stdout.partition('\n\n--')[0]
    self.assertNotRegex(text, r'launch.*\S {3,}\S')

  @parameterized.parameters(
    ('evaluate', '--flagfile=/nowhere', 'flag --flagfile=/nowhere: '),
    ('plot', '--experiment=a', 'flag --experiment: did you mean experiments?'),
    ('demo', '--num_labeled=0', 'flag --num_labeled=0: '),
  )
  def test_one_line_says_what_is_wrong(self, name, argument, start):
    completed = programs.run_module(f'launch.{name}', argument)
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(completed.stderr, f'^{re.escape(start)}.*\n$')


if __name__ == '__main__':
  absltest.main()
