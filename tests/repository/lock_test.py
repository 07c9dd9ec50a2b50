# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that locks agree with pyproject.toml, TensorFlow and .venv."""

import hashlib
import importlib
from importlib import metadata
import sysconfig
import tomllib
from typing import Any

from absl.testing import absltest
from absl.testing import parameterized
from packaging import requirements
from packaging import utils

from tests.repository import source_tree

_LOCKS = ('requirements', 'requirements-gpu', 'requirements-docs')
_STALE = 'The lock is stale; please run `make lock`.'


def _read(name: str) -> str:
  return (source_tree.PROJECT_ROOT / name).read_text()


def _read_project() -> dict[str, Any]:
  return tomllib.loads(_read('pyproject.toml'))


def _read_entries(name: str) -> list[str]:
  """Returns all that a file asks for, with hashes, each in one line."""
  lines = _read(name).replace('\\\n', ' ').splitlines()
  entries = (' '.join(line.split('#')[0].split()) for line in lines)
  return [entry for entry in entries if entry]


def _parse(entries: list[str]) -> dict[str, requirements.Requirement]:
  parsed = [requirements.Requirement(each.split(' --')[0]) for each in entries]
  return {utils.canonicalize_name(each.name): each for each in parsed}


def _read_lock() -> dict[str, str]:
  """Returns the locked version of each package."""
  return {
    name: str(requirement.specifier).removeprefix('==')
    for name, requirement in _parse(_read_entries('requirements.txt')).items()
  }


class LockTest(parameterized.TestCase):
  @parameterized.parameters(*_LOCKS)
  def test_is_made_from_the_present_inputs(self, lock):
    if lock == 'requirements-docs':
      inputs = _read('requirements-docs.in')
    else:
      inputs, _, _ = _read('pyproject.toml').partition('[tool.ruff]')
    self.assertIn(
      f'# Inputs: {hashlib.sha256(inputs.encode()).hexdigest()}',
      _read(f'{lock}.txt'),
      _STALE,
    )

  @parameterized.parameters(*_LOCKS)
  def test_every_entry_is_one_exact_version_of_known_content(self, lock):
    entries = _read_entries(f'{lock}.txt')
    self.assertNotEmpty(entries)
    for entry in entries:
      self.assertRegex(
        entry,
        r'^[a-z0-9._-]+==[0-9][a-z0-9.]*( --hash=sha256:[0-9a-f]{64})+$',
      )

  @parameterized.parameters(*_LOCKS)
  def test_says_nothing_about_where_packages_come_from(self, lock):
    for name in ('pyproject.toml', f'{lock}.txt'):
      self.assertNotRegex(_read(name), r'://|--(extra-)?index|--find-links')

  def test_satisfies_what_we_choose(self):
    lock = _read_lock()
    project = _read_project()
    for entries in (
      project['project']['dependencies'],
      project['project']['optional-dependencies']['mlflow'],
      project['dependency-groups']['dev'],
      project['build-system']['requires'],
      project['tool']['uv']['override-dependencies'],
    ):
      for name, requirement in _parse(entries).items():
        if requirement.marker and not requirement.marker.evaluate():
          self.assertNotIn(name, lock, _STALE)
          continue
        self.assertIn(name, lock, _STALE)
        self.assertIn(lock[name], requirement.specifier, f'{name}: {_STALE}')

  def test_packages_with_a_day_of_their_own_are_locked(self):
    self.assertContainsSubset(
      _read_project()['tool']['uv']['exclude-newer-package'], _read_lock()
    )

  def test_satisfies_what_its_packages_ask_for(self):
    # Installed with --no-deps, so that no tool checks requirements.
    lock = _read_lock()
    overridden = _parse(_read_project()['tool']['uv']['override-dependencies'])
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
    del asked_for['tensorrt']  # pyproject.toml says why.
    self.assertNotEmpty(asked_for)
    locked = _parse(_read_entries('requirements-gpu.txt'))
    self.assertEqual(
      {name: each.specifier for name, each in locked.items()}, asked_for
    )
    extras = _read_project()['project']['optional-dependencies']
    self.assertEqual(
      {name: each.specifier for name, each in _parse(extras['gpu']).items()},
      asked_for,
    )

  def test_tensorboard_can_start(self):
    # TensorBoard needs a part of setuptools that later releases lack.
    importlib.import_module('tensorboard.default')

  def test_is_what_is_installed(self):
    # Only two folders: setuptools and Ray add copies of packages to the path.
    path = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]
    installed = {
      utils.canonicalize_name(each.metadata['Name']): each.version
      for each in metadata.distributions(path=path)
    }
    lock = _read_lock()
    self.assertEqual(
      {name: installed.get(name) for name in lock},
      lock,
      'The environment differs from the lock; `make venv` makes them agree.',
    )


if __name__ == '__main__':
  absltest.main()
