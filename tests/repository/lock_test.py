# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The locks are what `make lock` and TensorFlow say, and what is installed."""

import hashlib
from importlib import metadata
import re

from absl.testing import absltest
from packaging import requirements
from packaging import utils

from tests.repository import source_tree

_STALE = 'requirements.txt is stale; please run `make lock`.'


def _read(name: str) -> str:
  return (source_tree.PROJECT_ROOT / name).read_text()


def _read_requirements(name: str) -> dict[str, requirements.Requirement]:
  lines = (line.split('#')[0].strip() for line in _read(name).splitlines())
  parsed = [requirements.Requirement(line) for line in lines if line]
  return {utils.canonicalize_name(each.name): each for each in parsed}


def _read_lock() -> dict[str, str]:
  """Returns the locked version of each package."""
  return {
    name: str(requirement.specifier).removeprefix('==')
    for name, requirement in _read_requirements('requirements.txt').items()
  }


class LockTest(absltest.TestCase):
  def test_is_made_from_the_present_inputs(self):
    inputs = _read('requirements.in') + _read('overrides.txt')
    self.assertIn(
      f'# Inputs: {hashlib.sha256(inputs.encode()).hexdigest()}',
      _read('requirements.txt'),
      _STALE,
    )

  def test_is_made_with_the_present_options(self):
    makefile = _read('Makefile').replace('\\\n', ' ')
    options = re.search(r'^RESOLVE := (.*)$', makefile, re.MULTILINE)[1]
    self.assertIn(
      f'# Options: {" ".join(options.split())}\n',
      _read('requirements.txt'),
      _STALE,
    )

  def test_every_line_is_one_exact_version(self):
    for line in _read('requirements.txt').splitlines():
      if not line.strip().startswith('#'):
        self.assertRegex(line, r'^[a-z0-9._-]+==[0-9][a-z0-9.]*$')

  def test_says_nothing_about_where_packages_come_from(self):
    for name in (
      'requirements.in',
      'overrides.txt',
      'requirements.txt',
      'requirements-gpu.txt',
    ):
      self.assertNotRegex(_read(name), r'://|--(extra-)?index|--find-links')

  def test_satisfies_what_we_choose(self):
    lock = _read_lock()
    for inputs in ('requirements.in', 'overrides.txt'):
      for name, requirement in _read_requirements(inputs).items():
        self.assertIn(name, lock, _STALE)
        self.assertIn(lock[name], requirement.specifier, f'{name}: {_STALE}')

  def test_satisfies_what_its_packages_ask_for(self):
    # Nobody else looks: it is installed with --no-deps.
    lock = _read_lock()
    overridden = _read_requirements('overrides.txt')
    for name in lock:
      for text in metadata.requires(name) or ():
        needed = requirements.Requirement(text)
        needed_name = utils.canonicalize_name(needed.name)
        if needed_name in overridden or (
          needed.marker and not needed.marker.evaluate({'extra': ''})
        ):
          continue
        self.assertIn(needed_name, lock, f'{name} needs it.')
        self.assertTrue(
          needed.specifier.contains(lock[needed_name], prereleases=True),
          f'{name} needs {needed}; locked is {lock[needed_name]}.',
        )

  def test_gpu_support_is_what_tensorflow_asks_for(self):
    asked_for = {}
    for text in metadata.requires('tensorflow'):
      needed = requirements.Requirement(text)
      if needed.marker and 'and-cuda' in str(needed.marker):
        asked_for[utils.canonicalize_name(needed.name)] = needed.specifier
    del asked_for['tensorrt']  # The file says why.
    self.assertNotEmpty(asked_for)
    locked = _read_requirements('requirements-gpu.txt')
    self.assertEqual(
      {name: each.specifier for name, each in locked.items()}, asked_for
    )

  def test_is_what_is_installed(self):
    # The first found is what gets imported: there may be further copies on the
    # path, for setuptools appends some of its own.
    installed = {}
    for each in metadata.distributions():
      name = utils.canonicalize_name(each.metadata['Name'])
      installed.setdefault(name, each.version)
    lock = _read_lock()
    self.assertEqual(
      {name: installed.get(name) for name in lock},
      lock,
      'The environment differs from the lock; `make venv` makes them agree.',
    )


if __name__ == '__main__':
  absltest.main()
