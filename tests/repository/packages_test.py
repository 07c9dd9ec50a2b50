# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Locked packages satisfy pyproject.toml, are installed, and have licences."""

import hashlib
from importlib import metadata
import re
import tomllib

from absl.testing import parameterized
from packaging import requirements
from packaging import utils

from tests.repository import source_tree

_FREE = re.compile(
  r'Apache|BSD|CMU|ISC|MIT\b|Mozilla|MPL|Python Software Foundation|Unlicense'
)
_NOT_FREE = re.compile(r'\b[AL]?GPL|Affero|Commercial|Proprietary', re.I)
_STALE = 'The lock is stale; please run `make lock`.'


def _read(name):
  return (source_tree.PROJECT_ROOT / name).read_text()


def _parse(entries):
  """The requirement of each package, by canonical name."""
  parsed = [requirements.Requirement(each) for each in entries]
  return {utils.canonicalize_name(each.name): each for each in parsed}


def _read_lock(name='requirements'):
  """The locked version of each package."""
  return dict(
    re.findall(r'(?m)^([a-z0-9._-]+)==([0-9][a-z0-9.]*) ', _read(f'{name}.txt'))
  )


def _read_licences(name):
  """The licence in a package's metadata, or otherwise in its files."""
  package = metadata.distribution(name)
  classifiers = package.metadata.get_all('Classifier', [])
  said = [each for each in classifiers if each.startswith('License ::')]
  said.append(package.metadata.get('License-Expression') or '')
  said.append((package.metadata.get('License') or '').partition('\n')[0])
  if not _FREE.search(' '.join(said)):
    said += [
      file.read_text()
      for file in package.files or ()
      if 'LICEN' in file.name.upper()
    ]
  return '\n'.join(said)


class PackagesTest(parameterized.TestCase):
  @parameterized.parameters(
    'requirements', 'requirements-gpu', 'requirements-docs'
  )
  def test_lock_is_of_the_present_inputs_and_has_hashes(self, lock):
    inputs = _read('pyproject.toml').partition('[tool.ruff]')[0]
    if lock == 'requirements-docs':
      inputs = _read('requirements-docs.in')
    digest = hashlib.sha256(inputs.encode()).hexdigest()
    text = _read(f'{lock}.txt')
    self.assertTrue(f'# Inputs: {digest}' in text, _STALE)
    entries = re.sub(r'\\\n|#.*', '', text).splitlines()
    for entry in filter(str.strip, entries):
      self.assertRegex(
        ' '.join(entry.split()),
        r'^[a-z0-9._-]+==[0-9][a-z0-9.]*( --hash=sha256:[0-9a-f]{64})+$',
      )

  def test_lock_satisfies_the_project_and_its_packages(self):
    lock = _read_lock()
    project = tomllib.loads(_read('pyproject.toml'))
    overridden = project['tool']['uv']['override-dependencies']
    for entries in (
      project['project']['dependencies'],
      project['dependency-groups']['dev'],
      overridden,
      # Installed with --no-deps, so that no tool checks these packages.
      *((metadata.requires(name) or ()) for name in lock),
    ):
      for name, needed in _parse(entries).items():
        marker = needed.marker
        if marker and not marker.evaluate({'extra': ''}):
          continue
        if entries is overridden or name not in _parse(overridden):
          self.assertIn(name, lock, _STALE)
          self.assertTrue(
            needed.specifier.contains(lock[name], prereleases=True),
            f'{needed}: locked is {lock[name]}',
          )

  def test_locked_packages_have_free_licences(self):
    lock = _read_lock()
    self.assertNotEmpty(lock)
    for name in lock:
      licences = _read_licences(name)
      self.assertRegex(licences, _FREE, name)
      self.assertNotRegex(licences, _NOT_FREE, name)
