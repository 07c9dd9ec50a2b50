# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that hold for each of our versions of RandAugment."""

from collections.abc import Callable

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.augment import everywhere
from tests.augment import pillow
from tff_semifl.augment import augmentation

SEED = tf.constant([3, 4])


class PolicyTestCase(parameterized.TestCase, tf.test.TestCase):
  """Tests of a policy."""

  build: Callable[[], augmentation.Augmentation]
  jit_compile: bool = False

  def augment(self, images, seed=SEED):
    """Returns a view of each image."""
    return type(self).build()(tf.constant(images), seed)

  def assert_share(self, is_so, expected):
    """Asserts how many of the views are so, within 5 standard deviations."""
    self.assertAllClose(
      np.mean(is_so),
      expected,
      rtol=0,
      atol=5 * np.sqrt(expected * (1 - expected) / len(is_so)),
    )

  def test_views_follow_from_the_seed_for_gray_images_too(self):
    gray = pillow.create_images()[..., :1]
    color = np.tile(gray, [1, 1, 1, 3])
    first, other = (
      self.augment(color, tf.constant(seed)) for seed in ([1, 2], [2, 2])
    )
    self.assertEqual(first.dtype, tf.uint8)
    self.assertEqual(first.shape, color.shape)
    self.assertNotAllEqual(first, color)
    self.assertNotAllEqual(first, other)
    # Gray images are treated as color images that are gray.
    again = self.augment(gray, tf.constant([1, 2]))
    self.assertAllEqual(again, first[..., :1])

  @parameterized.parameters((8, 8, 1), (96, 50, 3))
  @pytest.mark.slow
  def test_same_everywhere(self, *shape):
    images = pillow.create_images(*shape[:2])[..., : shape[2]]
    views = everywhere.run_everywhere(type(self).build(), images, SEED)
    self.assertAllEqual(views['graph'], views['eager'])
    self.assertAllEqual(views['dataset'], views['eager'])

  @pytest.mark.slow
  def test_same_in_static_shapes(self):
    images = pillow.create_images()
    augment = type(self).build()
    views = everywhere.run_statically(
      augment, images, SEED, jit_compile=type(self).jit_compile
    )
    self.assertAllEqual(views, augment(tf.constant(images), SEED))

  def test_no_images(self):
    views = self.augment(np.zeros([0, 32, 32, 3], np.uint8))
    self.assertEqual(views.shape, [0, 32, 32, 3])
