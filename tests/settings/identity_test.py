# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a part's identity, which includes more than its settings."""

import dataclasses
import functools
import importlib.util
import json
import linecache
import pathlib
import subprocess
import sys
import types
from typing import Any
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.settings import example_parts
from tff_semifl import settings
from tff_semifl.settings import identity


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Sauce(settings.Settings):
  hot: float = settings.setting(0.5, 'How hot.')
  recipe: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Meal(settings.Settings):
  pizza: example_parts.Pizza = example_parts.Pizza(name='mine')
  sauce: settings.Settings = _Sauce()


def _add_1(x):
  return x + 1


def _add_2(x):
  return x + 2


def _run(source, name='f', module='__main__'):
  """An object of a program or module, by name."""
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
    (_add_1, _add_2),
    (functools.partial(_add_1, 1), functools.partial(_add_1, 2)),
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

    one, again, other = (identity.digest(create(n)) for n in (1, 1, 2))
    self.assertEqual(one, again)
    self.assertNotEqual(one, other)

  def test_closures_of_functions_that_call_themselves(self):
    def create(number):
      def count(n):
        return number if n == 0 else count(n - 1)

      return count

    one, again, other = (identity.digest(create(n)) for n in (1, 1, 2))
    self.assertEqual(one, again)
    self.assertNotEqual(one, other)

  def test_what_cannot_be_compared_is_refused_with_its_place(self):
    thing = object()
    for value in (thing, [thing], lambda x=thing: x):
      with self.assertRaisesRegex(ValueError, r'^field sauce\.recipe .*object'):
        settings.identify(_Meal(sauce=_Sauce(recipe=value)))


class CodeTest(absltest.TestCase):
  def _load(self, source):
    """The function f of a module with this source."""
    path = pathlib.Path(self.create_tempdir().full_path, 'own.py')
    path.write_text(source)
    linecache.clearcache()
    spec = importlib.util.spec_from_file_location('own', path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, own=module):
      spec.loader.exec_module(module)
      # `inspect` looks for a class in its module.
      identity.digest(module.f)
    return module.f

  def test_other_code_has_another_digest(self):
    sources = (
      'def f(x):\n  return x + 1',
      'def f(x):\n  return x + 2',
      'def f(x, y=1):\n  return x + 1',
      'class f:\n  def g(self):\n    return 1',
      'class f:\n  def g(self):\n    return 2',
      'class b:\n  n = 1\nclass f(b):\n  pass',
      'class b:\n  n = 2\nclass f(b):\n  pass',
    )
    found = [identity.digest(self._load(each)) for each in sources]
    self.assertEqual(found, [identity.digest(self._load(s)) for s in sources])
    self.assertLen(set(found), len(sources))

  def test_a_class_of_a_notebook_has_the_sources_of_its_functions(self):
    found = []
    for number in (1, 2, 1):
      source = f'class f:\n  def g(self):\n    return {number}\n'
      name = f'<cell {len(found)}>'
      lines = source.splitlines(keepends=True)
      linecache.cache[name] = (len(source), None, lines, name)
      space = {'__name__': 'no_module'}
      exec(compile(source, name, 'exec'), space)
      found.append(identity.digest(space['f']))
    self.assertEqual(found[0], found[2])
    self.assertNotEqual(found[0], found[1])

  def test_without_a_source_nothing_is_equal(self):
    one, other = (_run('def f(x):\n  return x + 1') for _ in range(2))
    self.assertEqual(identity.digest(one), identity.digest(one))
    self.assertNotEqual(identity.digest(one), identity.digest(other))

  def test_is_equal_in_another_process(self):
    """Constant sets of strings have another order in another process."""
    folder = self.create_tempdir().full_path
    pathlib.Path(folder, 'own.py').write_text(
      'class Own:\n'
      '  names = frozenset(["a", "b", "c", "d"])\n'
      '  def has(self, x):\n'
      '    return x in {"kiwi", "plum", "fig", "lime"}\n'
    )
    program = (
      'import own\n'
      'from tff_semifl.settings import identity\n'
      'print(identity.digest(own.Own))\n'
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
