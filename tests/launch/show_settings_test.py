# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the table of all settings."""

import collections
import re

from absl.testing import absltest

from launch import show_settings
from tests.repository import source_tree
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import system_registry


class ShowSettingsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.page = show_settings.create_page()

  def test_document_is_up_to_date(self):
    self.assertEqual(
      (source_tree.PROJECT_ROOT / 'docs' / 'settings.md').read_text(),
      self.page,
      'Please run: python -m launch.show_settings > docs/settings.md',
    )

  def test_names_the_systems_that_have_a_setting(self):
    groups = {
      group: re.findall('`(.+?)`', names)
      for group, names in re.findall(r'\n\| ([a-z ]+) \| (`.+) \|', self.page)
    }
    said = collections.defaultdict(set)
    for name, meaning in re.findall(r'\n\| `(\w+)` \|.*\| (.+) \|', self.page):
      systems = set(system_registry.SYSTEMS)
      where = re.search(r' \(For (.+)\.\)$', meaning)
      for part in where[1].split('; ') if where else ():
        if '=' in part:
          continue
        listed = part.removeprefix('all but ')
        named = {
          system_name
          for each in listed.split(', ')
          for system_name in groups.get(each, [each.strip('`')])
        }
        systems = named if listed == part else systems - named
      said[name] |= systems
    have = collections.defaultdict(set)
    for system_name in system_registry.SYSTEMS:
      for name in settings.all_names(commands.create(system_name, {})):
        have[name].add(system_name)
    self.assertEqual(said, have)


if __name__ == '__main__':
  absltest.main()
