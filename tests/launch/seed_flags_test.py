# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the flag for several seeds."""

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from launch import program
from launch import seed_flags


class SeedFlagsTest(parameterized.TestCase):
  def _resolve(self, *arguments):
    with flagsaver.flagsaver():
      flags.FLAGS(['program', *arguments])
      return seed_flags.resolve()

  def test_seeds(self):
    self.assertEqual(self._resolve(), [0])
    self.assertEqual(self._resolve('--seed=7'), [7])
    self.assertEqual(self._resolve('--seeds=3,0,2147483647'), [3, 0, 2**31 - 1])

  @parameterized.named_parameters(
    ('none', ['--seeds='], '--seeds=: name at least one'),
    ('twice', ['--seeds=1,2,1'], '--seeds=1,2,1: each seed is trained .* once'),
    ('the_same_twice', ['--seeds=1,01'], '--seeds=1,01: each seed'),
    ('a_word', ['--seeds=0,one'], '--seeds=0,one: .* whole numbers from 0 to'),
    ('a_fraction', ['--seeds=0.5'], '--seeds=0.5: .* whole numbers'),
    ('below_0', ['--seeds=-1'], '--seeds=-1: .* whole numbers'),
    ('too_high', ['--seeds=2147483648'], '--seeds=2147483648: .*2147483647'),
    ('empty', ['--seeds=0,'], '--seeds=0,: .* whole numbers'),
    ('both', ['--seeds=0,1', '--seed=2'], '--seed=2: --seeds says it all'),
  )
  def test_bad_seeds(self, arguments, message):
    with self.assertRaisesRegex(program.FlagError, f'^flag {message}'):
      self._resolve(*arguments)


if __name__ == '__main__':
  absltest.main()
