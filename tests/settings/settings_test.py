# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of settings as fields of dataclasses."""

import dataclasses
import math

from absl.testing import absltest
from absl.testing import parameterized

from tests.settings import example_parts
from tff_semifl import settings


class PartTest(parameterized.TestCase):
  """Tests of a single part."""

  def test_whole_number_becomes_a_float(self):
    degrees = example_parts.Oven(degrees=300).degrees
    self.assertIs(type(degrees), float)
    self.assertEqual(degrees, 300.0)

  @parameterized.parameters(
    ({'degrees': 99.0}, 'degrees=99.0: must be from 100 to 500'),
    ({'degrees': math.nan}, 'degrees=nan: must be a finite number'),
    ({'degrees': 'hot'}, 'degrees=hot: must be of type float'),
    ({'degrees': True}, 'degrees=True: must be of type float'),
    ({'degrees': None}, '^degrees: .* None'),
    ({'minutes': 1.5}, 'minutes=1.5: must be of type int'),
  )
  def test_wrong_value_is_refused(self, values, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      example_parts.Oven(**values)


class Plain(example_parts.Oven):
  """A part without the decorator."""

  fans: int = settings.setting(2, 'Fans.')


class NoDataclassTest(absltest.TestCase):
  def test_is_refused_by_name_with_what_is_missing(self):
    for create in (Plain, lambda: Plain(degrees=300.0)):
      with self.assertRaisesRegex(
        ValueError, f'^{__name__}:Plain .*@dataclasses.dataclass.*$'
      ):
        create()


class ValuesTest(parameterized.TestCase):
  @parameterized.parameters(
    (settings.ABOVE_0, [1e-9, 1e9], [0, -1, math.inf, math.nan]),
    (settings.AT_LEAST_0, [0, 1e9], [-1e-9, math.inf, math.nan]),
    (settings.AT_LEAST_1, [1, 2], [0, math.nan]),
    (settings.BELOW_1, [0, 0.999], [-0.1, 1, math.nan]),
    (settings.INSIDE_0_TO_1, [0.001, 0.999], [0, 1, math.nan]),
    (settings.FRACTION, [0, 1], [-0.1, 1.1, math.nan]),
    (settings.SHARE, [0.001, 1], [0, 1.1, math.nan]),
    (settings.between(2, 3), [2, 3], [1.9, 3.1, math.nan]),
    (settings.one_of('a', 'b'), ['a', 'b'], ['c', 'A', '']),
  )
  def test_contains(self, values, inside, outside):
    for value in inside:
      self.assertTrue(values.contains(value), value)
    for value in outside:
      self.assertFalse(values.contains(value), value)


class TreeTest(parameterized.TestCase):
  """Tests of a tree of parts."""

  def setUp(self):
    super().setUp()
    self.pizza = example_parts.Pizza(name='mine')

  def test_as_dict_has_what_is_chosen_in_the_order_of_the_fields(self):
    self.assertEqual(
      list(settings.as_dict(self.pizza).items()),
      [
        ('topping', 'cheese'),
        ('grams', 100.0),
        ('kind', 'mozzarella'),
        ('folded', False),
        ('degrees', 250.0),
        ('minutes', None),
      ],
    )

  def test_change_reaches_all_parts_and_leaves_the_tree_as_it_was(self):
    changed = settings.change(
      self.pizza, {'grams': 50, 'minutes': 7, 'folded': True}
    )
    self.assertEqual(changed.topping, example_parts.Cheese(grams=50.0))
    self.assertEqual(changed.oven, example_parts.Oven(minutes=7))
    self.assertTrue(changed.folded)
    self.assertEqual(changed.name, 'mine')
    self.assertEqual(self.pizza, example_parts.Pizza(name='mine'))

  def test_newly_chosen_part_takes_changes_too(self):
    changed = settings.change(
      self.pizza, {'vegetables': ['leek'], 'topping': 'vegetables'}
    )
    self.assertEqual(
      changed.topping, example_parts.Vegetables(vegetables=('leek',))
    )

  def test_chosen_again_keeps_its_settings(self):
    changed = settings.change(self.pizza, {'grams': 50.0})
    again = settings.change(changed, {'topping': 'cheese'})
    self.assertEqual(again.topping.grams, 50.0)

  @parameterized.parameters(
    (
      {'gram': 3.0},
      'gram=3.0: did you mean grams\? there is no such setting here',
    ),
    ({'name': 'x'}, 'name=x: there is no such setting here'),
    ({'zzz': 3}, 'zzz=3: there is no such setting here$'),
    (
      {'vegetables': ('leek',)},
      'vegetables=leek: it is only for topping=vegetables; leave it out',
    ),
    ({'topping': 'chese'}, r'topping=chese: did you mean cheese\?'),
    ({'topping': 'fish'}, 'topping=fish: must be one of cheese, vegetables'),
    (
      {'topping': 'pineapple'},
      'topping=pineapple: it is for cakes; must be one of cheese, vegetables',
    ),
    ({'topping': ['cheese']}, 'topping=cheese: must be one of cheese'),
    (
      {'folded': True, 'degrees': 450},
      'folded=True: would be raw inside; bake it at 400',
    ),
  )
  def test_wrong_change_is_refused(self, changes, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      settings.change(self.pizza, changes)

  def test_change_present_leaves_out_what_is_not_there(self):
    changed = settings.change_present(
      self.pizza, {'grams': 1.0, 'vegetables': (), 'zzz': 1}
    )
    self.assertEqual(changed.topping.grams, 1.0)

  def test_all_names_are_those_of_all_options(self):
    self.assertEqual(
      settings.all_names(self.pizza),
      {*settings.as_dict(self.pizza), 'vegetables'},
    )

  def test_describe(self):
    found = {each.name: each for each in settings.describe(self.pizza)}
    self.assertEqual(found['minutes'].kind, int)
    self.assertEqual(found['minutes'].values, settings.AT_LEAST_1)
    self.assertEqual(found['degrees'].meaning, 'Degrees Celsius.')
    self.assertTrue(found['topping'].is_choice)
    self.assertEqual(found['topping'].values.names, ('cheese', 'vegetables'))
    self.assertFalse(found['kind'].is_choice)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Fish(settings.Settings):
  bones: bool = settings.setting(True, 'Whether there are bones.')


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Buffet(settings.Settings):
  dish: settings.Settings = settings.choice(
    {'cheese': example_parts.Cheese()},
    'cheese',
    'What there is.',
    load={'sea.food:FISH': _Fish()}.__getitem__,
  )


class OutsidePartTest(absltest.TestCase):
  """Tests of parts that are not among the options."""

  def test_is_loaded_with_its_settings(self):
    buffet = settings.change(
      _Buffet(), {'dish': 'sea.food:FISH', 'bones': False}
    )
    self.assertEqual(buffet.dish, _Fish(bones=False))

  def test_is_recorded_by_the_name_of_its_class(self):
    buffet = settings.change(_Buffet(), {'dish': 'sea.food:FISH'})
    self.assertEqual(
      settings.as_dict(buffet), {'dish': f'{__name__}:_Fish', 'bones': True}
    )


class BlameTest(absltest.TestCase):
  def test_error_becomes_one_of_the_setting(self):
    with self.assertRaisesRegex(settings.SettingError, '^n=3: too many$'):
      with settings.blame('n', 3):
        raise ValueError('too many')

  def test_other_errors_and_those_of_settings_stay(self):
    with self.assertRaises(KeyError):
      with settings.blame('n', 3):
        raise KeyError
    with self.assertRaisesRegex(settings.SettingError, '^m=1: too few$'):
      with settings.blame('n', 3):
        raise settings.SettingError('m', 1, 'too few')


if __name__ == '__main__':
  absltest.main()
