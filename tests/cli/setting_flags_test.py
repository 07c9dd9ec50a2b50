# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of flags that are derived from settings."""

from absl import flags
from absl.testing import absltest

from tests.settings import example_parts
from tff_semifl import settings
from tff_semifl.cli import setting_flags


def _create(changes):
  return settings.change(example_parts.Pizza(name='mine'), changes)


class SettingFlagsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.values = flags.FlagValues()

  def _parse(self, *arguments):
    part = setting_flags.choose(_create, arguments)
    setting_flags.define(part, self.values)
    self.values(['', *arguments])
    return setting_flags.read(part, self.values)

  def test_there_is_a_flag_for_each_setting_with_its_default(self):
    self.assertEqual(self._parse(), {})
    self.assertEqual(
      {name: self.values[name].value for name in self.values},
      settings.as_dict(example_parts.Pizza(name='mine')),
    )

  def test_given_flags_are_read_in_their_types(self):
    self.assertEqual(
      self._parse('--degrees=300', '--minutes=7', '--folded', '--kind=feta'),
      {'degrees': 300.0, 'minutes': 7, 'folded': True, 'kind': 'feta'},
    )

  def test_chosen_part_brings_its_flags(self):
    self.assertEqual(
      self._parse('--vegetables=leek,kale', '--topping=vegetables'),
      {'topping': 'vegetables', 'vegetables': ['leek', 'kale']},
    )

  def test_values_may_stand_alone_before_a_choice(self):
    self.assertEqual(
      self._parse('--degrees', '300', '--topping=vegetables', '--vegetables=a'),
      {'degrees': 300.0, 'topping': 'vegetables', 'vegetables': ['a']},
    )

  def test_last_choice_counts(self):
    self._parse('--topping=vegetables', '--topping', 'cheese', '--grams=3')
    self.assertNotIn('vegetables', self.values)

  def test_flag_of_another_choice_is_unknown(self):
    with self.assertRaisesRegex(flags.UnrecognizedFlagError, 'grams'):
      self._parse('--topping=vegetables', '--grams=3')

  def test_help_has_meaning_and_range_in_groups(self):
    pizza = example_parts.Pizza(name='mine')
    text = setting_flags.format_help(
      {'on it': [pizza.topping], 'heat': [pizza.oven]}
    )
    self.assertIn(
      'on it:\n  --grams: 100.0\n      Grams. Must be above 0.', text
    )
    self.assertIn('  --kind: mozzarella (mozzarella, feta)', text)
    self.assertLess(text.index('--kind'), text.index('heat:'))
    self.assertLess(text.index('heat:'), text.index('--degrees'))


if __name__ == '__main__':
  absltest.main()
