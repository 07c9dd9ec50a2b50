# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for optimizers that train some of a model's weights."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import optimizer_steps
from tff_semifl.core import optimizers


class RestrictTest(tf.test.TestCase):
  def test_clips_by_all_and_trains_some_d41(self):
    # The norm 5 of (3, 4) is to be 1, and only the second is trained. The
    # others do not decay either.
    state, found = optimizer_steps.run(
      optimizers.restrict(
        optimizers.build_nesterov_sgd(momentum=0, weight_decay=0.1),
        [False, True, False],
      ),
      [np.array([7.0]), np.array(10.0), np.array([2.0])],
      [[np.array([3.0]), np.array(4.0), np.array([0.0])]],
      [1.0],
    )
    self.assertAllClose(found, [[7.0], 10 - 0.8 - 1, [2.0]], atol=1e-6)
    (accumulator,) = optimizer_steps.get_accumulator(state)
    self.assertAllClose(accumulator, 0.8 + 1, atol=1e-6)

  def test_masks_after_clipping_and_before_decay_d41(self):
    optimizer = optimizers.restrict(
      optimizers.build_nesterov_sgd(momentum=0.9, weight_decay=0.1),
      [True, False],
      optimizers.zero_second_half,
    )
    weights = [np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([0.0])]
    gradients = [np.array([[2.0, 2.0, 2.0, 2.0]]), np.array([3.0])]
    _, found = optimizer_steps.run(optimizer, weights, [gradients], [1.0])
    # Norm 5, so 2 / 5; then 0.1 of decay, and Nesterov's first step is 1.9 of
    # both.
    self.assertAllClose(
      found, [[[1 - 1.9 * 0.5] * 2 + [1 - 1.9 * 0.1] * 2], [0.0]], atol=1e-6
    )

  def test_twice_restricted_clips_by_all(self):
    # The norm 13 of (3, 4, 12) is to be 1.
    _, found = optimizer_steps.run(
      optimizers.restrict(
        optimizers.restrict(
          optimizers.build_nesterov_sgd(momentum=0, weight_decay=0),
          [True, False],
        ),
        [False, True, True],
      ),
      [np.array(7.0), np.array(10.0), np.array(2.0)],
      [[np.array(3.0), np.array(4.0), np.array(12.0)]],
      [1.0],
    )
    self.assertAllClose(found, [7.0, 10 - 4 / 13, 2.0], atol=1e-6)

  def test_restricts_any_optimizer(self):
    optimizer = tff.learning.optimizers.build_sgdm(0.5)
    _, found = optimizer_steps.run(
      optimizers.restrict(optimizer, [True, False]),
      [np.array(1.0), np.array(1.0)],
      [[np.array(1.0), np.array(1.0)]],
      [0.25],
    )
    self.assertAllEqual(found, [0.75, 1.0])

  def test_half_of_an_odd_number_is_the_smaller_one_d41(self):
    self.assertAllEqual(
      optimizers.zero_second_half(tf.ones([2, 3])), [[1, 0, 0]] * 2
    )

  def test_as_many_as_there_are_weights(self):
    optimizer = optimizers.restrict(optimizers.build_nesterov_sgd(), [True])
    with self.assertRaisesRegex(ValueError, 'is shorter than'):
      optimizer.initialize([tf.TensorSpec([2]), tf.TensorSpec([2])])


if __name__ == '__main__':
  absltest.main()
