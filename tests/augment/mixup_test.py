# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for mixup: the coefficient's distribution and the arithmetic."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import stats
import tensorflow as tf

from tff_semifl.augment import mixup
from tff_semifl.randomness import random_draws

_NUM_DRAWS = 4000
# Of a small concentration, nearly all coefficients are 0 or 1 in float32:
# of Beta(.001, .001), 45 in 100 are below 1e-38.
_CONCENTRATIONS = (1e-3, 0.03, 0.75, 10)
# Bounds that float32 can tell from 0, 1/2 and 1.
_BOUNDS = np.array(
  [1e-30, 1e-10, 1e-5, 0.01, 0.2, 0.4, 0.499, 0.501, 0.6, 0.8, 0.99, 1 - 1e-5]
)


def _draw_coefficients(concentration):
  """Returns one coefficient for each of many seeds, as many batches draw."""

  def draw(batch):
    seed = random_draws.fold_in(tf.constant([3, 4]), batch)
    return mixup.sample_coefficient(seed, concentration=concentration)

  dataset = tf.data.Dataset.range(_NUM_DRAWS).map(draw).batch(_NUM_DRAWS)
  return dataset.get_single_element().numpy()


def _check_shares(draws, distribution, *, bounds):
  """Compares the share of draws up to each bound with the distribution's.

  The number of such draws is binomial. At each bound, 5 standard deviations are
  allowed, and one draw more where hardly any is expected.
  """
  for bound in bounds:
    expected = distribution(bound)
    deviation = np.sqrt(expected * (1 - expected) / _NUM_DRAWS)
    np.testing.assert_allclose(
      np.mean(draws <= bound),
      expected,
      rtol=0,
      atol=5 * deviation + 1 / _NUM_DRAWS,
      err_msg=f'up to {bound}',
    )


class SampleCoefficientTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(*_CONCENTRATIONS)
  def test_share_below_each_bound_is_that_of_the_distribution(self, a):
    _check_shares(_draw_coefficients(a), stats.beta(a, a).cdf, bounds=_BOUNDS)

  def test_same_seed_same_coefficient(self):
    first, again, other = (
      mixup.sample_coefficient(tf.constant(seed), concentration=0.75)
      for seed in ([1, 2], [1, 2], [2, 1])
    )
    self.assertEqual(first.shape, [])
    self.assertEqual(first.dtype, tf.float32)
    self.assertAllEqual(first, again)
    self.assertNotAllEqual(first, other)


class MixWithEachOtherTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(*_CONCENTRATIONS)
  def test_share_below_each_bound_is_that_of_the_folded_distribution(self, a):
    draws = mixup.sample_dominant_coefficients(
      tf.constant([3, 4]), _NUM_DRAWS, concentration=a
    )
    _check_shares(
      draws.numpy(),
      lambda x: 2 * stats.beta(a, a).cdf(x) - 1,
      bounds=_BOUNDS[_BOUNDS > 0.5],
    )

  def test_each_is_mixed_with_another_and_its_label_alike(self):
    num_images = 50
    # Image i has i in one pixel and class i.
    images = np.zeros([num_images, 2, 3, 1], np.float32)
    images[:, 0, 0, 0] = np.arange(num_images)
    mixed, labels = mixup.mix_with_each_other(
      tf.constant(images),
      tf.eye(num_images),
      tf.constant([1, 2]),
      concentration=0.75,
    )
    self.assertEqual(mixed.shape, images.shape)
    labels = labels.numpy()
    self.assertAllClose(
      mixed[:, 0, 0, 0], labels @ np.arange(num_images), rtol=1e-5
    )
    # Each image keeps the larger share of itself.
    own = np.diag(labels)
    self.assertBetween(own.min(), 0.5, 1)
    self.assertAllClose(labels.sum(axis=1), np.ones(num_images))
    # and is a part of one other image, or of itself.
    self.assertAllEqual(
      np.count_nonzero(labels - np.diag(own), axis=0) <= 1, [True] * num_images
    )
    # Coefficients are different.
    self.assertGreater(len(np.unique(own)), num_images // 2)


if __name__ == '__main__':
  absltest.main()
