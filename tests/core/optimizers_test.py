# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of optimizers, against NumPy and PyTorch's rules."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.baselines.fedmatch import fedmatch
from tff_semifl.baselines.one_place import pooled
from tff_semifl.core import optimizers

_SHAPES = ((3, 2), (2,), ())


def _draw(generator, scale, shapes=_SHAPES):
  return [
    np.asarray(generator.normal(scale=scale, size=shape), np.float32)
    for shape in shapes
  ]


def _flatten(tensors):
  return np.concatenate([np.ravel(t).astype(np.float64) for t in tensors])


def _run(optimizer, weights, all_gradients, learning_rates):
  """The state and weights after a step for each of the gradients."""
  state = optimizer.initialize(
    [tf.TensorSpec(np.shape(w), tf.float32) for w in weights]
  )
  weights = [tf.constant(w, tf.float32) for w in weights]
  for gradients, learning_rate in zip(
    all_gradients, learning_rates, strict=True
  ):
    hparams = {optimizers.LEARNING_RATE_KEY: tf.constant(learning_rate)}
    state = optimizer.set_hparams(state, hparams)
    gradients = [tf.constant(g, tf.float32) for g in gradients]
    state, weights = optimizer.next(state, weights, gradients)
  return state, weights


def _clip(gradients, clip_norm):
  gradient = _flatten(gradients)
  if clip_norm is None:
    return gradient
  return gradient * min(1.0, clip_norm / (np.linalg.norm(gradient) + 1e-6))


class StepsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    ('as_published', {}),
    ('gentle', dict(momentum=0.5, weight_decay=0.1, clip_norm=2.0)),
    ('unclipped', dict(clip_norm=None)),
    ('undecayed', dict(weight_decay=0.0)),
    ('without_momentum', dict(momentum=0.0)),
  )
  def test_nesterov_equals_numpy_while_the_learning_rate_changes(self, changes):
    """Clipping, then decay of all weights, then Nesterov's momentum."""
    generator = np.random.default_rng(0)
    weights = _draw(generator, 1)
    # Norms are about 3 * scale: some steps are clipped and others are not.
    all_gradients = [_draw(generator, s) for s in (2, 0.1, 5, 0.01, 1, 0)]
    rates = [0.3, 0.3, 0.1, 0.4, 0.0, 0.2]
    optimizer = optimizers.build_nesterov_sgd(**changes)
    _, found = _run(optimizer, weights, all_gradients, rates)
    options = dict(momentum=0.9, weight_decay=5e-4, clip_norm=1.0) | changes
    vector, buffer = _flatten(weights), None
    for gradients, rate in zip(all_gradients, rates, strict=True):
      gradient = _clip(gradients, options['clip_norm'])
      gradient = gradient + options['weight_decay'] * vector
      momentum = options['momentum']
      buffer = gradient if buffer is None else momentum * buffer + gradient
      vector = vector - rate * (gradient + momentum * buffer)
    self.assertAllClose(_flatten(found), vector, rtol=1e-5, atol=1e-6)

  @parameterized.parameters(None, 2.0)
  def test_adamw_equals_numpy_while_the_learning_rate_changes(self, clip_norm):
    """AdamW of Loshchilov and Hutter, ICLR 2019."""
    generator = np.random.default_rng(0)
    weights = _draw(generator, 1)
    all_gradients = [_draw(generator, scale) for scale in (2, 0.1, 5)]
    rates, beta_1, beta_2, decay = [0.3, 0.1, 0.4], 0.8, 0.999, 0.1
    _, found = _run(
      optimizers.build_adamw(
        beta_1=beta_1, weight_decay=decay, clip_norm=clip_norm
      ),
      weights,
      all_gradients,
      rates,
    )
    vector = _flatten(weights)
    mean, square = np.zeros_like(vector), np.zeros_like(vector)
    steps = zip(all_gradients, rates, strict=True)
    for step, (gradients, rate) in enumerate(steps, 1):
      gradient = _clip(gradients, clip_norm)
      mean = beta_1 * mean + (1 - beta_1) * gradient
      square = beta_2 * square + (1 - beta_2) * gradient**2
      direction = mean / (1 - beta_1**step)
      direction /= np.sqrt(square / (1 - beta_2**step))
      direction += decay * vector
      vector = vector - rate * direction
    self.assertAllClose(_flatten(found), vector, rtol=1e-4, atol=1e-4)

  def test_some_weights_decay(self):
    optimizer = optimizers.build_nesterov_sgd(
      momentum=0.0,
      weight_decay=0.25,
      clip_norm=None,
      is_decayed=[True, False],
    )
    ones = [np.array([1.0])] * 2
    _, found = _run(optimizer, [4 * one for one in ones], [ones], [0.5])
    # 4 - 0.5 * (1 + 0.25 * 4) and 4 - 0.5 * 1.
    self.assertAllEqual(found, [[3.0], [3.5]])

  def test_clipping_divides_by_slightly_more_than_the_norm(self):
    optimizer = optimizers.build_nesterov_sgd(
      momentum=0.0, weight_decay=0.0, clip_norm=1e-6
    )
    gradient = np.array([3e-6, 4e-6])
    _, found = _run(optimizer, [np.zeros(2)], [[gradient]], [1.0])
    self.assertAllClose(found, [-gradient / (5 + 1)], atol=0)

  def test_average_weighs_the_past_exponentially(self):
    average = {'kernel': tf.constant([[8.0]]), 'bias': tf.constant([0.0, 4.0])}
    weights = {'kernel': tf.constant([[0.0]]), 'bias': tf.constant([8.0, 4.0])}
    for _ in range(3):
      average = pooled.move_average(average, weights, 0.75)
    # (3/4)^3 = 27/64 of the initial rate.
    self.assertAllClose(average['kernel'], [[8 * 27 / 64]])
    self.assertAllClose(average['bias'], [8 * 37 / 64, 4.0])


class RestrictTest(tf.test.TestCase):
  def test_clips_by_all_and_trains_some_d41(self):
    # The gradient (3, 4) of norm 5 is clipped to norm 1, and only the second
    # weight is trained. Other weights do not decay either.
    state, found = _run(
      optimizers.restrict(
        optimizers.build_nesterov_sgd(momentum=0, weight_decay=0.1),
        [False, True, False],
      ),
      [np.array([7.0]), np.array(10.0), np.array([2.0])],
      [[np.array([3.0]), np.array(4.0), np.array([0.0])]],
      [1.0],
    )
    self.assertAllClose(found, [[7.0], 10 - 0.8 - 1, [2.0]], atol=1e-6)
    self.assertAllClose(state['accumulator'], [0.8 + 1], atol=1e-6)

  def test_masks_after_clipping_and_before_decay_d41(self):
    optimizer = optimizers.restrict(
      optimizers.build_nesterov_sgd(momentum=0.9, weight_decay=0.1),
      [True, False],
      fedmatch.zero_second_half,
    )
    weights = [np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([0.0])]
    gradients = [np.array([[2.0, 2.0, 2.0, 2.0]]), np.array([3.0])]
    _, found = _run(optimizer, weights, [gradients], [1.0])
    # Clipping the norm 5 to 1 gives 2 / 5; decay adds 0.1; Nesterov's first
    # step is 1.9 times the sum.
    self.assertAllClose(
      found, [[[1 - 1.9 * 0.5] * 2 + [1 - 1.9 * 0.1] * 2], [0.0]], atol=1e-6
    )
    # The middle output of an odd number is in the second half.
    self.assertAllEqual(
      fedmatch.zero_second_half(tf.ones([2, 3])), [[1, 0, 0]] * 2
    )

  def test_restricts_any_optimizer(self):
    optimizer = optimizers.restrict(
      tff.learning.optimizers.build_sgdm(0.5), [True, False]
    )
    ones = [np.array(1.0)] * 2
    _, found = _run(optimizer, ones, [ones], [0.25])
    self.assertAllEqual(found, [0.75, 1.0])


class PackingTest(absltest.TestCase):
  def test_small_tensors_of_one_kind_and_type_are_packed(self):
    shapes = ([3], [2, 2], [], [0], [5000], [70, 70])
    tensors = [
      tf.constant(array) for array in _draw(np.random.default_rng(0), 1, shapes)
    ]
    tensors.append(tf.constant([2.0], tf.float64))
    seen = []

    def compute(x, y, kind):
      seen.append((kind, x.dtype, x.shape.as_list()))
      return x * y, -x

    squares, negated = optimizers.map_elements(
      compute, tensors, tensors, kinds=[0, 1, 0, 1, 0, 1, 0]
    )
    self.assertCountEqual(
      seen,
      [
        (0, tf.float32, [3 + 1]),
        (1, tf.float32, [4 + 0]),
        (0, tf.float32, [5000]),
        (1, tf.float32, [70, 70]),
        (0, tf.float64, [1]),
      ],
    )
    for tensor, square, other in zip(tensors, squares, negated, strict=True):
      np.testing.assert_array_equal(square, tensor * tensor)
      np.testing.assert_array_equal(other, -tensor)

  def test_on_a_gpu_all_but_large_tensors_are_packed(self):
    self.enter_context(
      mock.patch.object(tf.config, 'list_physical_devices', lambda _: ['a GPU'])
    )
    sizes = [3, 2**20 + 1, 5000, 2**20]
    (small, large) = optimizers.pack([tf.zeros([size]) for size in sizes])
    self.assertEqual(small.shape, [3 + 5000 + 2**20])
    self.assertEqual(large.shape, [2**20 + 1])


if __name__ == '__main__':
  absltest.main()
