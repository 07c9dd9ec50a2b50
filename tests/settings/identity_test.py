# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the identity of a part beside its settings."""

import dataclasses
import json
import pathlib
import subprocess
import sys
import types
from typing import Any

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.settings import example_parts
from tff_semifl import settings
from tff_semifl.settings import digests


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Sauce(settings.Settings):
  hot: float = settings.setting(0.5, 'How hot.')
  recipe: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Meal(settings.Settings):
  pizza: example_parts.Pizza = example_parts.Pizza(name='mine')
  sauce: settings.Settings = _Sauce()


def _run(source, name='f', module='__main__'):
  """Returns an object of a program or module by name."""
  found = types.ModuleType(module)
  exec(source, found.__dict__)
  return found.__dict__[name]


class IdentityTest(parameterized.TestCase):
  def test_has_classes_and_fields_for_json(self):
    meal = _Meal(sauce=_Sauce(hot=0.9, recipe=(3, 'basil')))
    found = settings.identify(meal)
    self.assertEqual(found['class'], f'{__name__}:_Meal')
    self.assertEqual(
      found['pizza']['topping']['class'],
      f'{example_parts.__name__}:Cheese',
    )
    self.assertEqual(found['pizza']['name'], 'mine')
    self.assertNotIn('hot', found['sauce'])
    self.assertEqual(json.loads(json.dumps(found)), found)
    self.assertEqual(
      found,
      settings.identify(_Meal(sauce=_Sauce(hot=0.1, recipe=(3, 'basil')))),
    )

  @parameterized.parameters(
    (1, 2),
    ((1, 2), [1, 2]),
    ({'a': 1}, {'a': 2}),
    (np.arange(3), np.arange(1, 4)),
    (np.zeros(3), np.zeros(3, np.float32)),
    (np.zeros([2, 3]), np.zeros([3, 2])),
    (np.add, np.subtract),
    (example_parts.Cheese(), example_parts.Vegetables()),
    # Settings of a part that no flag reaches.
    ((example_parts.Cheese(),), (example_parts.Cheese(grams=9.0),)),
    (lambda x: x + 1, lambda x: x + 2),
    (lambda x: x.real, lambda x: x.imag),
    (lambda x, y=1: x + y, lambda x, y=2: x + y),
  )
  def test_fields_differ(self, one, other):
    first, second, again = (
      settings.identify(_Meal(sauce=_Sauce(recipe=each)))
      for each in (one, other, one)
    )
    self.assertNotEqual(first, second)
    self.assertEqual(first, again)

  def test_closures_differ_by_their_values(self):
    def create(number):
      return lambda: number

    one, again, other = (digests.digest(create(n)) for n in (1, 1, 2))
    self.assertEqual(one, again)
    self.assertNotEqual(one, other)

  def test_what_cannot_be_compared_is_refused_with_its_place(self):
    thing = object()
    for value in (thing, [thing], lambda: thing, lambda x=thing: x):
      with self.assertRaisesRegex(ValueError, r'^field sauce\.recipe .*object'):
        settings.identify(_Meal(sauce=_Sauce(recipe=value)))


class CodeTest(parameterized.TestCase):
  def test_other_code_has_another_digest(self):
    sources = (
      'def f(x):\n  return x + 1',
      'def f(x):\n  return x + 2',
      'def f(x):\n  return x - 1',
      'def f(x):\n  return (lambda: x + 1)()',
      'def f(x):\n  return (lambda: x + 2)()',
      'N = 1\ndef f(x):\n  return x + N',
      'N = 2\ndef f(x):\n  return x + N',
      'def g(x):\n  return x + 1\ndef f(x):\n  return g(x)',
      'def g(x):\n  return x + 2\ndef f(x):\n  return g(x)',
      'def f(x):\n  return f(x) + 1',
      'class f:\n  def g(self):\n    return 1',
      'class f:\n  def g(self):\n    return 2',
      'class b:\n  n = 1\nclass f(b):\n  pass',
      'class b:\n  n = 2\nclass f(b):\n  pass',
      'class f:\n  @property\n  def g(self):\n    return 1',
      'class f:\n  @property\n  def g(self):\n    return 2',
      'class f:\n  @staticmethod\n  def g(self):\n    return 1',
      'class f:\n  def g(self):\n    super().g()\n    return 1',
    )
    found = [digests.digest(_run(source)) for source in sources]
    self.assertEqual(found, [digests.digest(_run(each)) for each in sources])
    self.assertLen(set(found), len(sources))

  def test_comments_docstrings_and_variables_do_not_matter(self):
    one = 'def f(x):\n  """A."""\n  return x + 1'
    other = '\n\ndef f(y):\n  """B."""  # C.\n  return y + 1'
    self.assertEqual(digests.digest(_run(one)), digests.digest(_run(other)))

  def test_objects_of_a_program_are_refused_and_those_of_a_module_not(self):
    """An import recreates the object; a notebook may have changed it."""
    source = 'THING = object()\ndef f(x):\n  return THING'
    with self.assertRaisesRegex(ValueError, 'object'):
      digests.digest(_run(source))
    digests.digest(_run(source, module='some_module'))

  def test_is_equal_in_another_process(self):
    """Sets of texts, which are constants here, have another order there."""
    folder = self.create_tempdir().full_path
    pathlib.Path(folder, 'own.py').write_text(
      'class Own:\n'
      '  names = frozenset(["a", "b", "c", "d"])\n'
      '  def has(self, x):\n'
      '    return x in {"kiwi", "plum", "fig", "lime"}\n'
    )
    program = (
      'import own\n'
      'from tff_semifl.settings import digests\n'
      'print(digests.digest(own.Own))\n'
    )
    found = {
      subprocess.run(
        [sys.executable, '-c', program],
        env={
          'PYTHONHASHSEED': seed,
          'PYTHONPATH': ':'.join([folder, *sys.path]),
        },
        capture_output=True,
        check=True,
        text=True,
      ).stdout
      for seed in '12'
    }
    self.assertLen(found, 1)


if __name__ == '__main__':
  absltest.main()
