# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""All locked packages may be used, changed and passed on."""

from importlib import metadata
import re

from absl.testing import absltest

from tests.repository import source_tree

_FREE = re.compile(
  r'Apache|BSD|CMU|ISC|MIT\b|Mozilla|MPL|Python Software Foundation|Unlicense'
)
_NOT_FREE = re.compile(r'\b[AL]?GPL|Affero|Commercial|Proprietary', re.I)


def _read_licences(name: str) -> str:
  """The licence in a package's metadata, or else in its files."""
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


class LicencesTest(absltest.TestCase):
  def test_of_all_locked_packages(self):
    lock = (source_tree.PROJECT_ROOT / 'requirements.txt').read_text()
    names = re.findall(r'^([a-z0-9._-]+)==', lock, re.MULTILINE)
    self.assertNotEmpty(names)
    for name in names:
      with self.subTest(name):
        licences = _read_licences(name)
        self.assertRegex(licences, _FREE)
        self.assertNotRegex(licences, _NOT_FREE)


if __name__ == '__main__':
  absltest.main()
