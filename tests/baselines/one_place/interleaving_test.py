# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of interleaving (F.7)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.baselines.one_place import mixmatch


class InterleaveTest(parameterized.TestCase, tf.test.TestCase):
  def test_each_block_has_a_part_of_the_first(self):
    # Seven rows in three parts: two, two and three.
    labeled, first, second = (
      tf.range(start, start + 7) for start in (0, 10, 20)
    )
    found = mixmatch.interleave([labeled, first, second])
    self.assertAllEqual(found[0], [0, 1, 12, 13, 24, 25, 26])
    self.assertAllEqual(found[1], [10, 11, 2, 3, 14, 15, 16])
    self.assertAllEqual(found[2], [20, 21, 22, 23, 4, 5, 6])

  @parameterized.product(number=(2, 5), rows=(1, 9))
  def test_twice_is_what_it_was(self, number, rows):
    blocks = [
      tf.constant(block)
      for block in np.random.default_rng(0).uniform(size=(number, rows, 2, 3))
    ]
    once = mixmatch.interleave(blocks)
    for found, block in zip(mixmatch.interleave(once), blocks, strict=True):
      self.assertAllEqual(found, block)
    # In a graph too, where the number of rows is not known.
    anywhere = tf.function(
      mixmatch.interleave,
      input_signature=[[tf.TensorSpec([None, 2, 3], tf.float64)] * number],
    )
    for found, expected in zip(anywhere(blocks), once, strict=True):
      self.assertAllEqual(found, expected)


if __name__ == '__main__':
  absltest.main()
