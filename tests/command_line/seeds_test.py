# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the flag for several seeds."""

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from tff_semifl.command_line import program
from tff_semifl.command_line import seeds


class SeedsTest(parameterized.TestCase):
  def _parse(self, *arguments, default=0):
    with flagsaver.flagsaver():
      flags.FLAGS(['program', *arguments])
      return seeds.parse(default)

  def test_seeds(self):
    self.assertEqual(self._parse(), [0])
    self.assertEqual(self._parse(default=7), [7])
    self.assertEqual(self._parse('--seeds=3,0,2147483647'), [3, 0, 2**31 - 1])

  @parameterized.named_parameters(
    ('none', '--seeds=', 'name at least one'),
    ('twice', '--seeds=1,2,1', 'each seed is trained .* once'),
    ('a_word', '--seeds=0,one', '.* whole numbers from 0 to'),
    ('below_0', '--seeds=-1', '.* whole numbers'),
    ('too_high', '--seeds=2147483648', '.*2147483647'),
  )
  def test_bad_seeds(self, argument, message):
    with self.assertRaisesRegex(
      program.FlagError, f'^flag {argument}: {message}'
    ):
      self._parse(argument)


if __name__ == '__main__':
  absltest.main()
