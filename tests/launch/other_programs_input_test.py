# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that bad flags of other programs give one line."""

from absl.testing import absltest
from absl.testing import parameterized

from tests import forked_programs
from tff_semifl.command_line import main


class OtherProgramsInputTest(parameterized.TestCase):
  @parameterized.parameters(
    *('evaluate', 'export_saved_model', 'plot', 'predict', 'show_augmentations')
    + ('show_partition', 'show_settings', 'sweep')
  )
  def test_other_programs_say_one_line_too(self, name):
    completed = forked_programs.run(f'launch.{name}', '--flagfile=/nowhere')
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(completed.stderr, '^flag --flagfile=/nowhere: .*\n$')

  @parameterized.parameters(*main.PROGRAMS)
  def test_help_is_no_error(self, name):
    # Programs treat all forms of --help alike.
    ways = ('--help', '--helpshort', '--helpfull', '-h')
    for asking in ways if name == 'train' else ways[:1]:
      completed = forked_programs.run(f'launch.{name}', asking)
      self.assertEqual(completed.returncode, 0, completed.stderr)
      self.assertEqual(completed.stderr, '')
      # Its first line says what the program does, and examples are as one
      # types them: with a backslash where a line goes on in the next.
      self.assertIn(main.summarize(name).removesuffix('.'), completed.stdout)
      text = completed.stdout.partition('\n\n--')[0]
      self.assertNotRegex(text, r'launch.*\S {3,}\S')

  @parameterized.parameters(
    ('plot', '--experiment=a', "Unknown command line flag 'experiment'"),
    ('export_saved_model', '--format=onnx', 'flag --format='),
    ('sweep', '--parallel=0', 'flag --parallel=0: '),
    ('plot', '--experiments=/a,/b', 'flag --experiments=/a,/b: .*/a/metrics'),
  )
  def test_one_line_of_another_program(self, name, argument, start):
    completed = forked_programs.run(f'launch.{name}', argument)
    self.assertEqual(completed.returncode, 1)
    self.assertRegex(completed.stderr, f'^{start}.*\n$')


if __name__ == '__main__':
  absltest.main()
