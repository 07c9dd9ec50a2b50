# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of flags, flagfiles and help, and of clear error messages."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from tests.settings import example_parts
from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import help_text


def _create(changes):
  return settings.change(example_parts.Pizza(name='mine'), changes)


def _parse(*arguments):
  part, _ = command_line.parse(_create, arguments, 'bake', lambda: ['wine'])
  return part


class ParseTest(parameterized.TestCase):
  @parameterized.parameters(
    ([], {}),
    (
      ['--degrees=300', '-minutes', '7', '--folded', '--kind=feta'],
      {'degrees': 300.0, 'minutes': 7, 'folded': True, 'kind': 'feta'},
    ),
    (['--folded=true', '--nofolded'], {'folded': False}),
    # A choice adds its own flags, in any order.
    (
      ['--vegetables=leek, "a,b"', '--topping', 'vegetables'],
      {'topping': 'vegetables', 'vegetables': ('leek', '"a', 'b"')},
    ),
    (
      ['--vegetables="a,b",leek', '--topping=vegetables'],
      {'topping': 'vegetables', 'vegetables': ('a,b', 'leek')},
    ),
    (
      ['--topping=vegetables', '--topping=cheese', '--grams=3'],
      {'grams': 3.0},
    ),
  )
  def test_settings_of_flags(self, arguments, changes):
    self.assertEqual(_parse(*arguments), _create(changes))

  @parameterized.parameters(
    ('--minutes=ten', '^minutes=ten: must be a whole number$'),
    ('--degrees=hot\n', '^degrees=hot\n: must be a number$'),
    ('--folded=maybe', '^folded=maybe: must be true or false$'),
    ('--topping=fish', '^topping=fish: must be one of cheese, vegetables'),
    ('--kind=fet', r'^kind=fet: did you mean feta\?'),
    ('--kind', '^flag --kind: write --kind=VALUE'),
    ('--nokind', '^flag --nokind: write --kind=VALUE'),
    ('--vegetables=a', '^flag --vegetables: .*--topping=vegetables'),
    ('--wine', '^flag --wine: bake has no use for it'),
    ('--degree=9', r'^flag --degree: did you mean degrees\?'),
    ('salami', "^unexpected argument 'salami'"),
  )
  def test_errors(self, argument, message):
    with self.assertRaisesRegex(
      (settings.SettingError, command_line.UsageError), message
    ):
      _parse(argument)

  def test_arguments_that_a_program_takes_are_kept_in_order(self):
    part, others = command_line.parse(
      _create,
      ['--wine', 'red', '--minutes=7', 'salami'],
      'bake',
      takes=lambda _: True,
    )
    self.assertEqual(part.oven.minutes, 7)
    self.assertEqual(others, ['--wine', 'red', 'salami'])

  def test_help_has_default_meaning_and_range(self):
    text = help_text.format_help(_create({}), help_text.COMMON)
    self.assertIn('\n  --grams: 100.0\n      Grams. Must be above 0.\n', text)
    self.assertIn('  --kind: mozzarella (mozzarella, feta)', text)
    self.assertIn('  --verbosity:\n', text)


class FlagfilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'my.flags'
    inner = self.path.with_name('inner.flags')
    # A byte-order mark is not part of a flag.
    inner.write_text('\N{ZERO WIDTH NO-BREAK SPACE}--a=1\n# Not a flag.\n')
    self.path.write_text(f'--flagfile={inner}\n--b=2\n')

  def test_flags_of_files_come_first(self):
    for given in (
      ['--b=3', f'--flagfile={self.path}'],
      ['--b=3', '--flagfile', str(self.path)],
      [f'-flagfile={self.path}', '--b=3'],
    ):
      self.assertEqual(
        command_line.read_flagfiles(given), ['--a=1', '--b=2', '--b=3']
      )

  def test_file_that_cannot_be_read(self):
    nowhere = self.path.with_name('nowhere')
    for name, content, message in (
      ('outer', f'--flagfile={nowhere}'.encode(), f'{nowhere}: No such file'),
      ('binary', b'\xff\xfe', 'binary is no text'),
      ('circle', b'--flagfile=%b', 'circle names itself'),
    ):
      path = self.path.with_name(name)
      path.write_bytes(content.replace(b'%b', str(path).encode()))
      with self.assertRaisesRegex(
        settings.SettingError, f'^flagfile={path}: .*{message}'
      ):
        command_line.read_flagfiles([f'--flagfile={path}'])
    with self.assertRaisesRegex(settings.SettingError, 'name a file'):
      command_line.read_flagfiles(['--flagfile'])


if __name__ == '__main__':
  absltest.main()
