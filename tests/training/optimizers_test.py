# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for the optimizer, step by step against NumPy."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import optimizer_steps
from tff_semifl.training import optimizers


def _run_numpy(
  weights,
  all_gradients,
  learning_rates,
  *,
  momentum,
  weight_decay,
  clip_norm,
):
  """PyTorch's steps as A.3 has them, on one long float64 vector."""
  vector = np.concatenate([np.ravel(w).astype(np.float64) for w in weights])
  buffer = None
  for gradients, learning_rate in zip(
    all_gradients, learning_rates, strict=True
  ):
    gradient = np.concatenate([np.ravel(g) for g in gradients])
    gradient = gradient.astype(np.float64)
    if clip_norm is not None:
      norm = np.sqrt(np.sum(gradient**2))
      gradient *= min(1.0, clip_norm / (norm + 1e-6))
    gradient += weight_decay * vector
    # The very first step has no buffer to multiply.
    buffer = gradient if buffer is None else momentum * buffer + gradient
    vector = vector - learning_rate * (gradient + momentum * buffer)
  pieces = np.split(vector, np.cumsum([np.size(w) for w in weights])[:-1])
  return [
    piece.reshape(np.shape(w)) for piece, w in zip(pieces, weights, strict=True)
  ]


class NesterovSGDTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    ('as_published', {}),
    ('gentle', dict(momentum=0.5, weight_decay=0.1, clip_norm=2.0)),
    ('unclipped', dict(clip_norm=None)),
    ('undecayed', dict(weight_decay=0.0)),
    ('without_momentum', dict(momentum=0.0)),
  )
  def test_steps_equal_numpy_while_the_learning_rate_changes(self, arguments):
    """Clip, decay all, Nesterov: the authors' code (D6)."""
    generator = np.random.default_rng(0)
    weights = optimizer_steps.random_tensors(generator, scale=1)
    # Norms around 3 * scale: some steps are clipped and some are not.
    all_gradients = [
      optimizer_steps.random_tensors(generator, scale)
      for scale in (2, 0.1, 5, 0.01, 1, 0)
    ]
    learning_rates = [0.3, 0.3, 0.1, 0.4, 0.0, 0.2]

    _, found = optimizer_steps.run(
      optimizers.build_nesterov_sgd(**arguments),
      weights,
      all_gradients,
      learning_rates,
    )

    defaults = dict(momentum=0.9, weight_decay=5e-4, clip_norm=1.0)
    expected = _run_numpy(
      weights, all_gradients, learning_rates, **{**defaults, **arguments}
    )
    self.assertAllClose(found, expected, rtol=1e-5, atol=1e-6)

  def test_momentum_by_hand(self):
    optimizer = optimizers.build_nesterov_sgd(
      0.1, momentum=0.5, weight_decay=0, clip_norm=None
    )
    state = optimizer.initialize([tf.TensorSpec([])])
    weights, found = [tf.constant(1.0)], []
    for _ in range(3):
      state, weights = optimizer.next(state, weights, [tf.constant(1.0)])
      found.append(weights[0].numpy())
    # buffer   1      1 + 0.5 = 1.5    1 + 0.75 = 1.75
    # step     0.15   0.1 * 1.75       0.1 * 1.875
    self.assertAllClose(found, [0.85, 0.675, 0.4875])

  def test_clips_by_the_norm_over_all_tensors(self):
    # Norm 5 of (3, 4), to be 1: the steps are 3/5 and 4/5.
    _, found = optimizer_steps.run(
      optimizers.build_nesterov_sgd(momentum=0, weight_decay=0),
      [np.array([0.0]), np.array(0.0)],
      [[np.array([3.0]), np.array(4.0)]],
      [1.0],
    )
    self.assertAllClose(found, [[-0.6], -0.8], atol=1e-6)

  def test_leaves_gradients_within_the_bound_alone(self):
    _, found = optimizer_steps.run(
      optimizers.build_nesterov_sgd(momentum=0, weight_decay=0),
      [np.array([0.0, 0.0])],
      [[np.array([0.3, 0.4])]],
      [1.0],
    )
    self.assertAllEqual(found, np.array([[-0.3, -0.4]], np.float32))

  def test_decays_after_clipping_and_biases_too(self):
    # The gradient is clipped to norm 0.5; the decay of 0.1 * 20 = 2 is not.
    _, found = optimizer_steps.run(
      optimizers.build_nesterov_sgd(
        momentum=0, weight_decay=0.1, clip_norm=0.5
      ),
      [np.full([1, 1], 20.0), np.array([10.0])],
      [[np.full([1, 1], 7.0), np.array([0.0])]],
      [1.0],
    )
    self.assertAllClose(found, [[[20 - 0.5 - 2]], [10.0 - 1]], atol=1e-6)

  def test_learning_rate_is_not_in_the_buffer(self):
    generator = np.random.default_rng(1)
    weights = optimizer_steps.random_tensors(generator, 1)
    all_gradients = [
      optimizer_steps.random_tensors(generator, 0.1) for _ in range(4)
    ]
    # Without decay the gradients, and so the buffer, know no learning rate.
    optimizer = optimizers.build_nesterov_sgd(weight_decay=0)
    small, _ = optimizer_steps.run(
      optimizer, weights, all_gradients, [0.01, 0.02, 0.03, 0.5]
    )
    large, _ = optimizer_steps.run(
      optimizer, weights, all_gradients, [1.0, 0.7, 0.2, 0.5]
    )
    for each_small, each_large in zip(
      optimizer_steps.get_accumulator(small),
      optimizer_steps.get_accumulator(large),
      strict=True,
    ):
      self.assertAllEqual(each_small, each_large)
      self.assertNotAllClose(each_small, tf.zeros_like(each_small))

  def test_reduces_to_plain_gradient_descent(self):
    generator = np.random.default_rng(2)
    weights = optimizer_steps.random_tensors(generator, 1)
    gradients = optimizer_steps.random_tensors(generator, 100)
    _, found = optimizer_steps.run(
      optimizers.build_nesterov_sgd(momentum=0, weight_decay=0, clip_norm=None),
      weights,
      [gradients, gradients],
      [0.25, 0.25],
    )
    # Two steps of a quarter.
    for w, g, each in zip(weights, gradients, found, strict=True):
      self.assertAllClose(each, w - 0.5 * g, rtol=1e-5)

  @parameterized.parameters(1.0, None)
  def test_zero_gradients_change_nothing(self, clip_norm):
    weights = optimizer_steps.random_tensors(np.random.default_rng(3), 1)
    zeros = [np.zeros_like(w) for w in weights]
    _, found = optimizer_steps.run(
      optimizers.build_nesterov_sgd(weight_decay=0, clip_norm=clip_norm),
      weights,
      [zeros, zeros],
      [0.1, 0.1],
    )
    for expected, each in zip(weights, found, strict=True):
      self.assertAllEqual(each, expected)

  def test_same_in_a_graph(self):
    generator = np.random.default_rng(4)
    weights = optimizer_steps.random_tensors(generator, 1)
    gradients = optimizer_steps.random_tensors(generator, 1)
    optimizer = optimizers.build_nesterov_sgd()
    state = optimizer.initialize(optimizer_steps.specs(weights))
    expected_state, expected = optimizer.next(
      state, weights, [tf.constant(g) for g in gradients]
    )
    found_state, found = tf.function(optimizer.next)(state, weights, gradients)
    self.assertAllClose(found, expected)
    self.assertAllClose(
      tf.nest.flatten(found_state), tf.nest.flatten(expected_state)
    )


class StateTest(tf.test.TestCase):
  def test_begins_with_the_learning_rate_and_zeros(self):
    specs = [tf.TensorSpec([2, 3]), tf.TensorSpec([4], tf.float64)]
    state = optimizers.build_nesterov_sgd(0.5).initialize(specs)
    self.assertIsInstance(state, collections.OrderedDict)
    learning_rate, accumulator = state.values()
    self.assertEqual(next(iter(state)), optimizers.LEARNING_RATE_KEY)
    self.assertEqual(learning_rate.dtype, tf.float32)
    self.assertAllEqual(learning_rate, 0.5)
    self.assertAllEqual(accumulator[0], np.zeros([2, 3], np.float32))
    self.assertAllEqual(accumulator[1], np.zeros([4], np.float64))
    self.assertEqual(accumulator[1].dtype, tf.float64)

  def test_default_learning_rate_is_the_published_one(self):
    optimizer = optimizers.build_nesterov_sgd()
    hparams = optimizer.get_hparams(optimizer.initialize([]))
    self.assertEqual(list(hparams), [optimizers.LEARNING_RATE_KEY])
    self.assertAllClose(hparams[optimizers.LEARNING_RATE_KEY], 0.03)

  def test_keeps_its_structure_over_steps(self):
    optimizer = optimizers.build_nesterov_sgd()
    weights = [tf.ones([2, 3]), tf.ones([4])]
    state = optimizer.initialize(optimizer_steps.specs(weights))
    new_state, new_weights = optimizer.next(state, weights, weights)
    tf.nest.assert_same_structure(new_state, state)
    self.assertEqual(list(new_state), list(state))
    for new, old in zip(
      tf.nest.flatten((new_state, new_weights)),
      tf.nest.flatten((state, weights)),
      strict=True,
    ):
      self.assertEqual((new.shape, new.dtype), (old.shape, old.dtype))

  def test_some_weights_decay(self):
    optimizer = optimizers.build_nesterov_sgd(
      0.5,
      momentum=0.0,
      weight_decay=0.25,
      clip_norm=None,
      is_decayed=[True, False],
    )
    weights = [tf.constant([4.0]), tf.constant([4.0])]
    _, new_weights = optimizer.next(
      optimizer.initialize(optimizer_steps.specs(weights)),
      weights,
      [tf.ones([1])] * 2,
    )
    # 4 - 0.5 * (1 + 0.25 * 4) and 4 - 0.5 * 1.
    self.assertAllEqual(new_weights, [[3.0], [3.5]])

  def test_setting_the_learning_rate_keeps_the_buffer(self):
    optimizer = optimizers.build_nesterov_sgd()
    weights = [tf.ones([2])]
    state, _ = optimizer.next(
      optimizer.initialize(optimizer_steps.specs(weights)), weights, weights
    )
    new_state = optimizer_steps.set_learning_rate(optimizer, state, 0.125)
    tf.nest.assert_same_structure(new_state, state)
    hparams = optimizer.get_hparams(new_state)
    self.assertAllEqual(hparams[optimizers.LEARNING_RATE_KEY], 0.125)
    self.assertAllEqual(
      optimizer_steps.get_accumulator(new_state),
      optimizer_steps.get_accumulator(state),
    )

  def test_setting_nothing_changes_nothing(self):
    optimizer = optimizers.build_nesterov_sgd(0.25)
    state = optimizer.initialize([tf.TensorSpec([2])])
    self.assertAllEqual(
      optimizer.get_hparams(optimizer.set_hparams(state, {})),
      {optimizers.LEARNING_RATE_KEY: 0.25},
    )


class ArgumentsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('learning_rate', -0.1),
    ('weight_decay', -1e-9),
    ('momentum', -0.1),
    ('momentum', 1.0),
    ('clip_norm', 0.0),
    ('clip_norm', -1.0),
  )
  def test_numbers_out_of_range(self, name, value):
    with self.assertRaisesRegex(ValueError, f'`{name}` must .* found {value}'):
      optimizers.build_nesterov_sgd(**{name: value})

  def test_gradients_that_do_not_fit_the_weights(self):
    optimizer = optimizers.build_nesterov_sgd()
    weights = [tf.ones([2]), tf.ones([2])]
    state = optimizer.initialize(optimizer_steps.specs(weights))
    with self.assertRaisesRegex(ValueError, 'is longer than'):
      optimizer.next(state, weights, weights[:1])


if __name__ == '__main__':
  absltest.main()
