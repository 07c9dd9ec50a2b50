# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of moving averages of weights."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl.training import optimizers


class MoveTest(tf.test.TestCase):
  def test_weighs_the_past_exponentially(self):
    average = {'kernel': tf.constant([[8.0]]), 'bias': tf.constant([0.0, 4.0])}
    weights = {'kernel': tf.constant([[0.0]]), 'bias': tf.constant([8.0, 4.0])}
    for _ in range(3):
      average = optimizers.move_average(average, weights, 0.75)
    # (3/4)^3 = 27/64 of what it was.
    self.assertAllClose(average['kernel'], [[8 * 27 / 64]])
    self.assertAllClose(average['bias'], [8 * 37 / 64, 4.0])

  def test_decay_0_is_the_weights_and_1_the_average(self):
    average, weights = [np.array([1.0, 2.0])], [np.array([3.0, 5.0])]
    self.assertAllEqual(optimizers.move_average(average, weights, 0.0), weights)
    self.assertAllEqual(optimizers.move_average(average, weights, 1.0), average)


if __name__ == '__main__':
  absltest.main()
