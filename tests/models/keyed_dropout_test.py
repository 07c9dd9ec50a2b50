# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that dropout is a function of its seed."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import keyed_dropout
from tff_semifl.randomness import random_draws

_SEED = tf.constant([3, 4])
_CHANNELS = (None, 1, 1, None)


def _drop(inputs, seed=_SEED, **kwargs):
  layer = keyed_dropout.KeyedDropout(**({'rate': 0.25, 'key': 0} | kwargs))
  with random_draws.dropping_by(seed):
    return layer(inputs, training=True).numpy()


class KeyedDropoutTest(tf.test.TestCase, parameterized.TestCase):
  def test_drops_as_many_and_scales_up_the_rest(self):
    # The mean of 100,000 values with variance (1 / 0.75^2) * 0.75 - 1 = 1/3.
    found = _drop(tf.ones([1000, 100]))
    self.assertSameElements(
      np.unique(found).tolist(), [0.0, np.float32(1 / 0.75)]
    )
    self.assertAllClose(found.mean(), 1, rtol=0, atol=5 * np.sqrt(1 / 3 / 1e5))

  def test_whole_channels_of_an_image(self):
    found = _drop(tf.ones([50, 3, 2, 40]), noise_shape=_CHANNELS)
    first = found[:, :1, :1, :]
    self.assertAllEqual(found, np.broadcast_to(first, found.shape))
    # 2000 channels, a quarter of which are dropped.
    self.assertAllClose(
      np.mean(first == 0), 0.25, rtol=0, atol=5 * np.sqrt(0.25 * 0.75 / 2000)
    )

  @parameterized.parameters([None], [_CHANNELS])
  def test_draws_follow_from_seed_and_key(self, noise_shape):
    inputs = tf.ones([20, 2, 2, 20])

    def drop(**kwargs):
      return _drop(inputs, noise_shape=noise_shape, **kwargs)

    self.assertAllEqual(drop(), drop())
    self.assertNotAllEqual(drop(), drop(key=1))
    self.assertNotAllEqual(drop(), drop(seed=tf.constant([3, 5])))

  def test_inference_and_rate_0_change_nothing(self):
    inputs = tf.random.stateless_normal([4, 2, 2, 3], _SEED)
    layer = keyed_dropout.KeyedDropout(0.25, key=0)
    self.assertAllEqual(layer(inputs), inputs)
    self.assertAllEqual(_drop(inputs, rate=0.0), inputs)

  def test_training_without_seed(self):
    layer = keyed_dropout.KeyedDropout(0.25, key=0, name='drop')
    with self.assertRaisesRegex(ValueError, "'drop' draws .* needs a seed"):
      layer(tf.ones([1, 2]), training=True)

  @parameterized.parameters(-0.1, 1.0)
  def test_rate_that_there_is_not(self, rate):
    with self.assertRaisesRegex(ValueError, f'in .0, 1., found {rate}'):
      keyed_dropout.KeyedDropout(rate, key=0)
