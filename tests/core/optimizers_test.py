# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of optimizers, against NumPy and PyTorch's rules."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import optimizer_steps
from tff_semifl.core import optimizers


def _run_numpy(
  weights, all_gradients, learning_rates, *, momentum, weight_decay, clip_norm
):
  """PyTorch's steps (A.3) on one long float64 vector."""
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


class AdamTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(
    build=(optimizers.build_adam, optimizers.build_adamw),
    clip_norm=(None, 2.0),
  )
  def test_steps_equal_numpy_while_the_learning_rate_changes(
    self, build, clip_norm
  ):
    """Adam and AdamW of Loshchilov and Hutter, ICLR 2019."""
    generator = np.random.default_rng(0)
    weights = optimizer_steps.random_tensors(generator, scale=1)
    all_gradients = [
      optimizer_steps.random_tensors(generator, scale) for scale in (2, 0.1, 5)
    ]
    rates, beta_1, beta_2, decay = [0.3, 0.1, 0.4], 0.8, 0.999, 0.1
    _, found = optimizer_steps.run(
      build(beta_1=beta_1, weight_decay=decay, clip_norm=clip_norm),
      weights,
      all_gradients,
      rates,
    )
    is_decoupled = build is optimizers.build_adamw
    vector = np.concatenate([np.ravel(w) for w in weights]).astype(np.float64)
    mean, square = np.zeros_like(vector), np.zeros_like(vector)
    for step, (gradients, rate) in enumerate(
      zip(all_gradients, rates, strict=True), 1
    ):
      gradient = np.concatenate([np.ravel(g) for g in gradients])
      gradient = gradient.astype(np.float64)
      if clip_norm is not None:
        gradient *= min(1.0, clip_norm / np.linalg.norm(gradient))
      if not is_decoupled:
        gradient += decay * vector
      mean = beta_1 * mean + (1 - beta_1) * gradient
      square = beta_2 * square + (1 - beta_2) * gradient**2
      direction = mean / (1 - beta_1**step)
      direction /= np.sqrt(square / (1 - beta_2**step))
      if is_decoupled:
        direction += decay * vector
      vector = vector - rate * direction
    self.assertAllClose(
      np.concatenate([np.ravel(w) for w in found]), vector, rtol=1e-4, atol=1e-4
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


class ArgumentsTest(parameterized.TestCase):
  def test_gradients_that_do_not_fit_the_weights(self):
    optimizer = optimizers.build_nesterov_sgd()
    weights = [tf.ones([2]), tf.ones([2])]
    state = optimizer.initialize(optimizer_steps.specs(weights))
    with self.assertRaisesRegex(ValueError, 'is longer than'):
      optimizer.next(state, weights, weights[:1])


class MoveTest(tf.test.TestCase):
  def test_weighs_the_past_exponentially(self):
    average = {'kernel': tf.constant([[8.0]]), 'bias': tf.constant([0.0, 4.0])}
    weights = {'kernel': tf.constant([[0.0]]), 'bias': tf.constant([8.0, 4.0])}
    for _ in range(3):
      average = optimizers.move_average(average, weights, 0.75)
    # (3/4)^3 = 27/64 of what it was.
    self.assertAllClose(average['kernel'], [[8 * 27 / 64]])
    self.assertAllClose(average['bias'], [8 * 37 / 64, 4.0])


if __name__ == '__main__':
  absltest.main()
