# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of tables as Markdown has them."""

from absl.testing import absltest

from tff_semifl.experiments import markdown


class MarkdownTest(absltest.TestCase):
  def test_table(self):
    self.assertEqual(
      markdown.table(('', 'accuracy'), [('one', '50%'), ('two', '')]),
      '| | accuracy |\n| --- | --- |\n| one | 50% |\n| two | |',
    )


if __name__ == '__main__':
  absltest.main()
