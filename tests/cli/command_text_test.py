# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the command line: flagfiles, and errors in plain words."""

import pathlib

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl.cli import command_text


class FilesFirstTest(absltest.TestCase):
  """Tests that given flags win over flagfiles, wherever these stand."""

  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'my.flags'
    inner = self.path.with_name('inner.flags')
    inner.write_text('--a=1\n# Not a flag.\n')
    self.path.write_text(f'--flagfile={inner}\n--b=2\n')

  def test_flags_of_files_come_first(self):
    for given in (
      ['--b=3', f'--flagfile={self.path}'],
      ['--b=3', '--flagfile', str(self.path)],
      ['--b=3', f'-flagfile={self.path}'],
      [f'--flagfile={self.path}', '--b=3'],
    ):
      self.assertEqual(
        command_text.files_first(given), ['--a=1', '--b=2', '--b=3']
      )

  def test_byte_order_marks_are_no_flags(self):
    for path in (self.path, self.path.with_name('inner.flags')):
      path.write_text('\N{ZERO WIDTH NO-BREAK SPACE}' + path.read_text())
    self.assertEqual(
      command_text.files_first([f'--flagfile={self.path}']), ['--a=1', '--b=2']
    )

  def test_file_with_two_values_of_a_flag_is_refused(self):
    self.path.write_text('--a=1\n--b=2\n--a=3\n')
    with self.assertRaisesRegex(flags.Error, f'{self.path}, --a '):
      command_text.files_first([f'--flagfile={self.path}'])

  def test_nothing_is_read_behind_two_dashes(self):
    given = ['--b=3', '--', '--flagfile=nothing']
    self.assertEqual(command_text.files_first(given), given)

  def test_file_that_cannot_be_read(self):
    nowhere = self.path.with_name('nowhere')
    outer = self.path.with_name('outer.flags')
    outer.write_text(f'--flagfile={nowhere}\n')
    binary = self.path.with_name('binary.flags')
    binary.write_bytes(b'\xff\xfe')
    circle = self.path.with_name('circle.flags')
    circle.write_text(f'--flagfile={circle}\n')
    missing = f'cannot read {nowhere}: No such file or directory'
    for arguments, message in (
      ([f'--flagfile={nowhere}'], f'={nowhere}: {missing}'),
      ([f'--flagfile={outer}'], f'={outer}: {missing}'),
      ([f'--flagfile={binary}'], f'={binary}: is no text'),
      ([f'--flagfile={circle}'], f'={circle}: names itself'),
      (['--flagfile='], '=: name a file'),
      (['--flagfile'], '=: name a file'),
    ):
      with self.assertRaisesRegex(flags.Error, f'^flag --flagfile{message}$'):
        command_text.files_first(arguments)


class RepeatedTest(parameterized.TestCase):
  @parameterized.parameters(
    (['--a=1', '--b=2', '--a=3'], 1),
    (['--a', '1', '-a', '3'], 1),
    (['--a=1', '--b=2', '--a=1'], 0),
    (['--a=-1', '--flagfile=a', '--flagfile=b', '--', '--a=2'], 0),
  )
  def test_number_of_flags_with_several_values(self, arguments, number):
    self.assertLen([*command_text.find_repeated(arguments)], number)


class ExplainTest(parameterized.TestCase):
  @parameterized.parameters(
    ('--count=ten', '=ten: must be a whole number'),
    ('--rate=fast\n', '=fast\n: must be a number'),
    ('--is_on=maybe', '=maybe: must be true or false'),
    ('--kind=c', '=c: value should be one of <a|b>'),
  )
  def test_value_of_another_type(self, argument, message):
    values = flags.FlagValues()
    flags.DEFINE_integer('count', 1, '', flag_values=values)
    flags.DEFINE_float('rate', 1.0, '', flag_values=values)
    flags.DEFINE_bool('is_on', False, '', flag_values=values)
    flags.DEFINE_enum('kind', 'a', ['a', 'b'], '', flag_values=values)
    with self.assertRaises(flags.Error) as raised:
      values(['', argument])
    name = argument.partition('=')[0]
    self.assertEqual(
      command_text.explain(raised.exception), f'flag {name}{message}'
    )


if __name__ == '__main__':
  absltest.main()
