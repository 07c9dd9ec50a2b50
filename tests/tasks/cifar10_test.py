# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for CIFAR-10's constants, with a few images of noise in its place."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tasks import cifar10
from tests.data import tfds_files
from tff_semifl.augment import keras_cv_policy
from tff_semifl.augment import weak
from tff_semifl.data import sources

_SEED = tf.constant([1, 2])


class Cifar10Test(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._task = cifar10.CIFAR10().create()

  def test_constants_are_the_published_ones(self):
    """Of C.1, by SemiFL's code (D23), and of Table 4."""
    self.assertEqual(self._task.image_shape, (32, 32, 3))
    self.assertEqual(self._task.pixel_mean, (0.4914, 0.4822, 0.4465))
    self.assertEqual(
      self._task.pixel_standard_deviation, (0.2023, 0.1994, 0.2010)
    )
    self.assertEqual((self._task.model_depth, self._task.model_width), (28, 2))
    self.assertEqual(self._task.num_labeled, 4000)
    self.assertEqual(self._task.num_classes, 10)

  def test_weak_augmentation_flips_and_shifts_by_4(self):
    images = tf.constant(tfds_files.random_cifar10(20, seed=0).images)
    self.assertAllEqual(
      self._task.weak_augmentation(images, _SEED),
      weak.flip_and_crop(images, _SEED, flip=True, padding=4),
    )

  def test_strong_augmentation_is_that_of_keras_cv_after_a_weak_one(self):
    images = tf.constant(tfds_files.random_cifar10(20, seed=0).images)
    views = self._task.strong_augmentation(images, _SEED)
    only_strong = keras_cv_policy.build_keras_cv_rand_augment()(images, _SEED)
    self.assertNotAllEqual(views, images)
    self.assertNotAllEqual(views, only_strong)

  def test_loads_both_splits(self):
    train = tfds_files.random_cifar10(20, seed=1)
    test = tfds_files.random_cifar10(10, seed=2)
    data_dir = self.create_tempdir().full_path
    self.enter_context(tfds_files.offline())
    tfds_files.write_cifar10(data_dir, {'train': train, 'test': test})

    task = cifar10.CIFAR10(data_dir=data_dir).create()
    found = task.load()

    np.testing.assert_array_equal(found.train.images, train.images)
    np.testing.assert_array_equal(found.train.labels, train.labels)
    np.testing.assert_array_equal(found.test.images, test.images)
    self.assertIsInstance(found.test, sources.LabeledImages)
    np.testing.assert_array_equal(task.load_test_images().images, test.images)


if __name__ == '__main__':
  absltest.main()
