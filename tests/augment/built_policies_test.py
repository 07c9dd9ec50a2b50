# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the papers' RandAugment as a whole: probabilities and boxes."""

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.augment import everywhere
from tests.augment import pillow
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import semifl_policy

_GRAY = 127
_SEED = tf.constant([3, 4])
_FIXMATCH = fixmatch_policy.build_fixmatch_rand_augment
_PYTORCH = fixmatch_policy.build_fixmatch_pytorch_rand_augment
_SEMIFL = semifl_policy.build_semifl_rand_augment
_ALL = (_FIXMATCH, _PYTORCH, _SEMIFL)


def _augment(build, images, seed=_SEED):
  return build()(tf.constant(images), seed)


def _create_noise(size=32):
  """An image that only translations make black or white."""
  return np.random.default_rng(0).integers(
    20, 230, size=[1, size, size, 3], dtype=np.uint8
  )


def _cover(build, num_images, size):
  """The gray pixels of augmented black images, bool [images, size, size].

  Only inversions, and operations that move pixels in, change black pixels.
  """
  images = np.zeros([num_images, size, size, 1], np.uint8)
  return _augment(build, images).numpy()[..., 0] == _GRAY


class PoliciesTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(*_ALL)
  def test_views_follow_from_the_seed_for_gray_images_too(self, build):
    gray = pillow.create_images()[..., :1]
    color = np.tile(gray, [1, 1, 1, 3])
    first, other = (
      _augment(build, color, tf.constant(seed)) for seed in ([1, 2], [2, 2])
    )
    self.assertEqual(first.dtype, tf.uint8)
    self.assertEqual(first.shape, color.shape)
    self.assertNotAllEqual(first, color)
    self.assertNotAllEqual(first, other)
    # Gray images are treated as color images of equal channels.
    again = _augment(build, gray, tf.constant([1, 2]))
    self.assertAllEqual(again, first[..., :1])
    self.assertEqual(_augment(build, color[:0]).shape, [0, 32, 32, 3])

  @parameterized.product(build=_ALL, shape=[(8, 8, 1), (96, 50, 3)])
  @pytest.mark.slow
  def test_same_everywhere(self, build, shape):
    images = pillow.create_images(*shape[:2])[..., : shape[2]]
    views = everywhere.run_everywhere(build(), images, _SEED)
    self.assertAllEqual(views['graph'], views['eager'])
    self.assertAllEqual(views['dataset'], views['eager'])

  @parameterized.parameters(
    (_FIXMATCH, True), (_PYTORCH, False), (_SEMIFL, True)
  )
  @pytest.mark.slow
  def test_same_in_static_shapes(self, build, jit_compile):
    images = pillow.create_images()
    views = everywhere.run_statically(
      build(), images, _SEED, jit_compile=jit_compile
    )
    self.assertAllEqual(views, _augment(build, images))


class OddsTest(parameterized.TestCase, tf.test.TestCase):
  def _assert_share(self, is_so, expected):
    """Asserts the fraction of true values, within 5 standard deviations."""
    deviation = np.sqrt(expected * (1 - expected) / len(is_so))
    self.assertAllClose(np.mean(is_so), expected, rtol=0, atol=5 * deviation)

  @parameterized.parameters(_FIXMATCH, _PYTORCH)
  @pytest.mark.slow
  def test_views_of_fixmatch_that_are_only_covered(self, build):
    # Each operation but Identity changes noise, and changes more of it than the
    # box. Posterizing at level 9 also does, which leaves at most 7 of 8 bits.
    noise = _create_noise(48)
    views = _augment(build, np.repeat(noise, 4000, axis=0)).numpy()
    is_same = (views == noise) | (views == _GRAY).all(axis=3, keepdims=True)
    # Neither step applies one of the 13 other operations.
    expected = (1 - 13 / 14 * 1 / 2) ** 2
    self._assert_share(is_same.all(axis=(1, 2, 3)), expected)

  def test_views_of_semifl_that_are_blank_or_unchanged(self):
    # Each operation changes noise; only two inversions (Invert and Solarize)
    # cancel each other.
    images = np.repeat(_create_noise(), 2000, axis=0)
    views = _augment(_SEMIFL, images).numpy()
    pixels = views.reshape(len(views), -1)
    is_blank = (pixels == 0).all(axis=1) | (pixels == 255).all(axis=1)
    # Translated by the second operation; or by the first, without a second
    # translation and without a gray box over the rest.
    self._assert_share(is_blank, 1 / 15 + 1 / 15 * (1 - 1 / 15 - 1 / 30))
    is_unchanged = (views == images).all(axis=(1, 2, 3))
    # No operation is applied, or two inversions are.
    self._assert_share(is_unchanged, 1 / 4 + 1 / 4 * (2 / 15) ** 2)


class CutoutTest(parameterized.TestCase, tf.test.TestCase):
  def test_box_of_fixmatch_is_around_any_pixel(self):
    num_images, size = 4000, 32
    covered = _cover(_FIXMATCH, num_images, size)
    # Images with a single box show the positions of boxes.
    is_box = np.full(num_images, True)
    area = 1
    limits = []
    for axis in (1, 2):
      lines = covered.any(axis=axis)
      first = lines.argmax(axis=1)
      last = size - 1 - lines[:, ::-1].argmax(axis=1)
      limits.append((first, last))
      area *= last - first + 1
      is_box &= last - first < 16
    is_box &= covered.sum(axis=(1, 2)) == area
    self.assertGreater(np.mean(is_box), 0.6)
    for first, last in limits:
      first, last = first[is_box], last[is_box]
      # The box around pixel c covers c - 8 to c + 7, within the image.
      middle = np.where(first > 0, first + 8, last - 7)
      self.assertAllEqual(first, np.maximum(0, middle - 8))
      self.assertAllEqual(last, np.minimum(size - 1, middle + 7))
      counts = np.bincount(middle, minlength=size)
      self.assertLen(counts, size)
      # Chi-square with 31 degrees of freedom.
      mean = len(middle) / size
      self.assertLess(
        np.sum((counts - mean) ** 2 / mean), 31 + 5 * np.sqrt(2 * 31)
      )

  @parameterized.parameters((96, 16), (28, 14))
  def test_box_is_at_most_half_of_the_image(self, size, num_pixels):
    # Usually the box is inside of the image, and is the only mid-gray area.
    areas = _cover(_FIXMATCH, 200, size).sum(axis=(1, 2))
    self.assertEqual(np.bincount(areas).argmax(), num_pixels**2)
    areas = _cover(_PYTORCH, 300, size).sum(axis=(1, 2))
    # One pixel more if all pixels fit; at the border, fewer.
    self.assertGreaterEqual(areas.min(), (num_pixels // 2) ** 2)
    # Operations before the cutout make black pixels black or white, not gray.
    self.assertEqual(areas.max(), (num_pixels + 1) ** 2)
