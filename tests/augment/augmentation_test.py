# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of flips and shifted crops, against crops of `np.pad`, and of noise."""

import contextlib
import functools

from absl.testing import parameterized
import numpy as np
from scipy import stats
import tensorflow as tf

from tests.augment import everywhere
from tff_semifl.augment import augmentation
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws

_SEED = tf.constant([1, 2])
# More than twice the padding, so that shifts cannot look like flips.
_HEIGHT = 10
_WIDTH = 12


def _random_images(num_images, num_channels=3):
  shape = (num_images, _HEIGHT, _WIDTH, num_channels)
  return np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)


def _find_draw(image, view, padding):
  """(is flipped, row offset, column offset) of a crop; None for no crop."""
  for is_flipped in (False, True):
    mirrored = image[:, ::-1] if is_flipped else image
    padded = np.pad(
      mirrored, [(padding, padding), (padding, padding), (0, 0)], 'reflect'
    )
    for row in range(2 * padding + 1):
      for column in range(2 * padding + 1):
        crop = padded[row : row + _HEIGHT, column : column + _WIDTH]
        if np.array_equal(crop, view):
          return is_flipped, row - padding, column - padding
  return None


def _find_draws(images, views, padding):
  return [
    _find_draw(image, view, padding)
    for image, view in zip(images, views, strict=True)
  ]


class FlipAndCropTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(padding=[0, 1, 4], flip=[False, True])
  def test_each_view_is_a_crop_of_the_reflected_image(self, padding, flip):
    images = _random_images(40)
    views = augmentation.flip_and_crop(
      tf.constant(images), _SEED, flip=flip, padding=padding
    )
    self.assertEqual(views.dtype, tf.uint8)
    draws = _find_draws(images, views.numpy(), padding)
    self.assertNotIn(None, draws)
    self.assertEqual({is_flipped for is_flipped, _, _ in draws}, {False, flip})

  def test_all_draws_are_equally_likely(self):
    padding, num_images = 2, 5000
    # All images are equal, so that results show the random draws.
    image = _random_images(1)
    views = augmentation.flip_and_crop(
      tf.constant(np.repeat(image, num_images, axis=0)),
      _SEED,
      flip=True,
      padding=padding,
    ).numpy()
    distinct, counts = np.unique(
      views.reshape(num_images, -1), axis=0, return_counts=True
    )
    draws = _find_draws(
      np.repeat(image, len(distinct), axis=0),
      distinct.reshape(-1, *image.shape[1:]),
      padding,
    )
    # Each of 2 flips times 5 x 5 offsets is expected 100 times. The sum of
    # squared deviations over 100 is chi-square with 49 degrees of freedom: 49
    # +- sqrt(98).
    self.assertLen(set(draws), 50)
    expected = num_images / 50
    self.assertLess(
      np.sum((counts - expected) ** 2 / expected), 49 + 5 * np.sqrt(2 * 49)
    )

  def test_same_everywhere(self):
    augment = functools.partial(
      augmentation.flip_and_crop, flip=True, padding=2
    )
    images = _random_images(30)
    views = everywhere.run_everywhere(augment, images, _SEED)
    self.assertAllEqual(views['graph'], views['eager'])
    self.assertAllEqual(views['dataset'], views['eager'])
    self.assertAllEqual(
      everywhere.run_statically(augment, images, _SEED), views['eager']
    )

  def test_padding_as_large_as_the_image(self):
    with self.assertRaisesRegex(ValueError, f'less than .* found {_HEIGHT}'):
      augmentation.flip_and_crop(
        tf.constant(_random_images(1)), _SEED, flip=False, padding=_HEIGHT
      )


_SCALE = (2.0, 0.1, 30.0)


class AddNoiseTest(tf.test.TestCase):
  def test_is_normal_and_half_a_standard_deviation(self):
    features = tf.constant([[5.0, -1.0, 100.0]] * 4000)
    seed = tf.constant([3, 4])
    for drawing in (
      contextlib.nullcontext(),
      random_draws.drawing_by(portable_draws),
    ):
      with drawing:
        views = augmentation.add_noise(
          features, seed, standard_deviation=_SCALE
        )
      self.assertEqual(views.dtype, tf.float32)
      self.assertEqual(views.shape, features.shape)
      noise = (views - features).numpy() / (0.5 * np.array(_SCALE))
      for column in noise.T:
        # With another seed, correct noise fails once in 10,000 runs.
        self.assertGreater(stats.kstest(column, 'norm').pvalue, 1e-4)
      # The standard error of a correlation is 1 / sqrt(4000).
      self.assertAllClose(np.corrcoef(noise.T), np.eye(3), atol=0.07)

  def test_follows_from_the_seed(self):
    features = tf.zeros([3, 3])
    first, again, other = (
      augmentation.add_noise(
        features, tf.constant(seed), standard_deviation=_SCALE
      )
      for seed in ([1, 2], [1, 2], [1, 3])
    )
    self.assertAllEqual(first, again)
    self.assertNotAllClose(first, other)
    # Padding does not change the other rows.
    more = augmentation.add_noise(
      tf.zeros([5, 3]), tf.constant([1, 2]), standard_deviation=_SCALE
    )
    self.assertAllEqual(more[:3], first)
