# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the table of all settings."""

from absl.testing import absltest

from launch import show_settings
from tests.repository import source_tree


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


if __name__ == '__main__':
  absltest.main()
