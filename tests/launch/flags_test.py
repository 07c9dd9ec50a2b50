# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that flags are what the documents and the programs say."""

import importlib
import pathlib
import re

from absl import flags
from absl.testing import absltest

from launch import demo
from launch import systems

_ROOT = pathlib.Path(__file__).parents[2]
# All that define a flag, so that none is forgotten here.
_OURS = tuple(
  importlib.import_module(f'launch.{path.stem}')
  for path in sorted((_ROOT / 'launch').glob('*.py'))
  if 'flags.DEFINE_' in path.read_text()
)


def _module_flags(module):
  return flags.FLAGS.flags_by_module_dict()[module.__name__]


class FlagsTest(absltest.TestCase):
  def test_flags_that_documents_and_flagfiles_name_exist(self):
    known = {flag.name for module in _OURS for flag in _module_flags(module)}
    # Flags of absl, pip and Bazel that a document may name.
    others = {
      'logdir',
      'flagfile',
      'helpshort',
      'helpfull',
      'verbosity',
      'no-deps',
    }
    documents = [
      _ROOT / 'README.md',
      *_ROOT.glob('docs/**/*.md'),
      *_ROOT.glob('launch/**/*.flags'),
    ]
    self.assertGreater(len(documents), 1)
    for document in documents:
      named = set(
        re.findall(r'(?<![\w-])--([a-z][\w-]*)', document.read_text())
      )
      self.assertEmpty(named - known - others, f'in {document.name}')

  def test_flagfiles_parse(self):
    for path in _ROOT.glob('launch/flagfiles/**/*.flags'):
      first_line = path.read_text().splitlines()[0]
      self.assertStartsWith(first_line, '# ')
      parsed = flags.FlagValues()
      modules = {m for system in systems.ALL for m in system.flag_modules}
      for module in modules:
        for flag in _module_flags(module):
          parsed[flag.name] = flag
      parsed(['program', f'--flagfile={path}'])
      parsed.unparse_flags()

  def test_every_flag_is_read(self):
    """Each holder is used somewhere, and not just defined."""
    programs = {
      path: path.read_text() for path in (_ROOT / 'launch').glob('*.py')
    }
    for module in _OURS:
      source = pathlib.Path(module.__file__).read_text()
      names = dict(
        re.findall(r"^(\w+) = flags\.DEFINE_\w+\(\s*'(\w+)'", source, re.M)
      )
      self.assertLen(names, len(_module_flags(module)))
      for holder in names:
        read = re.compile(
          rf'\b{holder}\.value\b|(resolve|value_of)\(\s*([\w.]+\.)?{holder}\b'
        )
        self.assertTrue(
          any(read.search(text) for text in programs.values()),
          f'{holder} of {module.__name__} is read nowhere',
        )

  def test_help_of_a_program_has_its_flags(self):
    for system in systems.ALL:
      importlib.import_module(f'launch.train_{system.name}')
      self.assertEqual(
        self._key_flags(f'launch.train_{system.name}'),
        set(system.flag_values()),
      )
    shown = self._key_flags(demo.__name__)
    self.assertContainsSubset(systems.SEMIFL.flag_values(), shown)
    self.assertIn('seeds', shown)

  def _key_flags(self, module_name):
    return {
      flag.name for flag in flags.FLAGS.get_key_flags_for_module(module_name)
    }

  def test_every_flag_says_what_it_is(self):
    for module in _OURS:
      for flag in _module_flags(module):
        # absl puts the values of an enum in front.
        self.assertRegex(flag.help, r'^(<.*>: )?[A-Z].*\.$')


if __name__ == '__main__':
  absltest.main()
