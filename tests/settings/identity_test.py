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
    (
      lambda x: x + 1,
      lambda x: x + 2,
    ),
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

  def test_what_cannot_be_compared_is_refused_with_its_place(self):
    thing = object()
    for value in (thing, [thing], lambda: thing, lambda x=thing: x):
      with self.assertRaisesRegex(ValueError, r'^field sauce\.recipe .*object'):
        settings.identify(_Meal(sauce=_Sauce(recipe=value)))


class CodeTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def _digest(self, source, name='f'):
    """Returns the digest of an object of a module with that source."""
    path = pathlib.Path(self.folder, 'own_module.py')
    path.write_text(source)
    module = types.ModuleType('own_module')
    module.__file__ = str(path)
    with mock.patch.dict(sys.modules, own_module=module):
      exec(compile(source, path, 'exec'), module.__dict__)
      return identity.digest(vars(module)[name])

  def test_other_source_has_another_digest(self):
    sources = (
      'def f(x):\n  return x + 1\n',
      'def f(x):\n  return x + 2.0\n',
      'f = lambda x: x\n',
      'class f:\n  def g(self):\n    return 1\n',
      'class f:\n  def g(self):\n    return 2.0\n',
      'class b:\n  n = 1\nclass f(b):\n  pass\n',
      'class b:\n  n = 2.0\nclass f(b):\n  pass\n',
      'def g(n):\n  def h():\n    return n\n  return h\nf = g(1)\n',
      'def g(n):\n  def h():\n    return n\n  return h\nf = g(2.0)\n',
      'def g():\n  def h(n):\n    return h(n - 1)\n  return h\nf = g()\n',
    )
    found = [self._digest(source) for source in sources]
    self.assertEqual(found, [self._digest(each) for each in sources])
    self.assertLen(set(found), len(sources))

  def test_code_without_source_is_equal_in_no_other_process(self):
    program = (
      'import types\n'
      'from tff_semifl.settings import identity\n'
      'module = types.ModuleType("own")\n'
      'exec("def f():\\n  return 1", module.__dict__)\n'
      'assert identity.digest(module.f) == identity.digest(module.f)\n'
      'print(identity.digest(module.f))\n'
    )
    found = {
      subprocess.run(
        [sys.executable, '-c', program],
        env={'PYTHONPATH': ':'.join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
      ).stdout
      for _ in range(2)
    }
    self.assertLen(found, 2)

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
