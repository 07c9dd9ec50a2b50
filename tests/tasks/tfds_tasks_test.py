# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for CIFAR-10 and -100, SVHN and STL-10: constants, views, and splits.

A few images of noise, in TFDS' format, stand for theirs.
"""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tasks import cifar10
from tasks import cifar100
from tasks import stl10
from tasks import svhn
from tests.data import tfds_files
from tff_semifl.augment import augmentation
from tff_semifl.experiments import models

_SEED = tf.constant([1, 2])


class TaskTestCase(parameterized.TestCase, tf.test.TestCase):
  def load(self, part, name, splits):
    """Returns the data of a task of which only `splits` are on the disk."""
    data_dir = self.create_tempdir().full_path
    self.enter_context(tfds_files.offline())
    tfds_files.write(name, data_dir, splits)
    task = dataclasses.replace(part, data_dir=data_dir).create()
    self.assert_same_images(
      task.load_test_images(may_download=False), splits['test']
    )
    return task.load()

  def assert_same_images(self, found, written):
    self.assertEqual(found.images.dtype, np.uint8)
    self.assertEqual(found.labels.dtype, np.int32)
    np.testing.assert_array_equal(found.images, written.images)
    np.testing.assert_array_equal(found.labels, written.labels)

  def assert_weak_views(self, task, *, flip, padding):
    size = task.image_shape[0]
    images = tf.constant(tfds_files.random_images(20, size, 10, 0).images)
    views = task.weak_augmentation(images, _SEED)
    self.assertAllEqual(
      views,
      augmentation.flip_and_crop(images, _SEED, flip=flip, padding=padding),
    )
    # Other settings would not give these images.
    for others in (dict(flip=not flip), dict(padding=padding - 1)):
      arguments = dict(flip=flip, padding=padding) | others
      self.assertNotAllEqual(
        views, augmentation.flip_and_crop(images, _SEED, **arguments)
      )


class Cifar10Test(TaskTestCase):
  def test_constants_are_the_published_ones(self):
    """Of C.1, by SemiFL's code (D23), and of Table 4."""
    task = cifar10.CIFAR10().create()
    self.assertEqual(task.image_shape, (32, 32, 3))
    self.assertEqual(task.pixel_mean, (0.4914, 0.4822, 0.4465))
    self.assertEqual(task.pixel_standard_deviation, (0.2023, 0.1994, 0.2010))
    self.assertEqual((task.model_depth, task.model_width), (28, 2))
    self.assertEqual((task.num_labeled, task.num_classes), (4000, 10))
    self.assert_weak_views(task, flip=True, padding=4)

  def test_loads_both_splits(self):
    train = tfds_files.random_cifar10(20, seed=1)
    test = tfds_files.random_cifar10(10, seed=2)
    found = self.load(
      cifar10.CIFAR10(), 'cifar10', {'train': train, 'test': test}
    )
    self.assert_same_images(found.train, train)
    self.assert_same_images(found.test, test)


class Cifar100Test(TaskTestCase):
  def setUp(self):
    super().setUp()
    self._task = cifar100.CIFAR100().create()

  def test_constants_are_the_published_ones(self):
    """Of C.1, by SemiFL's code (D23), and of Table 4."""
    task = self._task
    self.assertEqual(task.image_shape, (32, 32, 3))
    self.assertEqual(task.pixel_mean, (0.5071, 0.4865, 0.4409))
    self.assertEqual(task.pixel_standard_deviation, (0.2673, 0.2564, 0.2762))
    self.assertEqual((task.model_depth, task.model_width), (28, 8))
    self.assertEqual(task.num_labeled, 10_000)

  def test_has_the_fine_classes_in_the_order_of_their_labels(self):
    names = self._task.class_names
    self.assertLen(names, 100)
    # The order is alphabetical.
    self.assertEqual(sorted(set(names)), list(names))
    self.assertEqual((names[0], names[99]), ('apple', 'worm'))

  def test_weak_views(self):
    self.assert_weak_views(self._task, flip=True, padding=4)

  @pytest.mark.slow
  def test_published_parameter_count(self):
    model = models.WideResNet().create(self._task, seed=0)
    self.assertEqual(
      sum(int(np.prod(w.shape)) for w in model.trainable_weights), 23_401_012
    )

  def test_loads_fine_labels(self):
    # The written coarse labels are all 0.
    train = tfds_files.random_images(20, 32, 100, seed=1)
    test = tfds_files.random_images(10, 32, 100, seed=2)
    found = self.load(
      cifar100.CIFAR100(), 'cifar100', {'train': train, 'test': test}
    )
    self.assertGreater(train.labels.max(), 20)
    self.assert_same_images(found.train, train)
    self.assert_same_images(found.test, test)
    self.assertIsNone(found.unlabeled)


class SvhnTest(TaskTestCase):
  def setUp(self):
    super().setUp()
    self._task = svhn.SVHN().create()

  def test_constants_are_the_published_ones(self):
    """Of C.1, by SemiFL's code (D23), of Tables 1 (D18) and 4."""
    task = self._task
    self.assertEqual(task.image_shape, (32, 32, 3))
    self.assertEqual(task.pixel_mean, (0.4377, 0.4438, 0.4728))
    self.assertEqual(task.pixel_standard_deviation, (0.1980, 0.2010, 0.1970))
    self.assertEqual((task.model_depth, task.model_width), (28, 2))
    self.assertEqual(task.num_labeled, 1000)
    self.assertEqual(task.class_names, tuple('0123456789'))

  def test_weak_views_are_never_mirrored(self):
    """As in SemiFL's code, not as in Zhang et al.'s (D28)."""
    self.assert_weak_views(self._task, flip=False, padding=4)

  def test_strong_views_are_of_weak_ones_that_are_never_mirrored(self):
    # White on the left, so that black there could come from a flip, a shift of
    # 4 pixels cannot bring it; from the operations, in a few images only.
    images = np.zeros([200, 32, 32, 3], np.uint8)
    images[:, :, :16] = 255
    views = self._task.strong_augmentation(tf.constant(images), _SEED).numpy()
    left = views[:, :, :12].mean(axis=(1, 2, 3))
    right = views[:, :, 20:].mean(axis=(1, 2, 3))
    self.assertGreater(np.mean(left > right), 0.75)

  def test_loads_two_splits_and_not_the_third(self):
    train = tfds_files.random_images(20, 32, 10, seed=1)
    test = tfds_files.random_images(10, 32, 10, seed=2)
    extra = tfds_files.random_images(10, 32, 10, seed=3)
    found = self.load(
      svhn.SVHN(),
      'svhn_cropped',
      {'train': train, 'test': test, 'extra': extra},
    )
    self.assert_same_images(found.train, train)
    self.assert_same_images(found.test, test)
    self.assertIsNone(found.unlabeled)


class Stl10Test(TaskTestCase):
  def setUp(self):
    super().setUp()
    self._task = stl10.STL10().create()

  def test_constants_are_the_published_ones(self):
    """C.1 (D23); the authors' code cannot run STL-10 (D20)."""
    task = self._task
    self.assertEqual(task.image_shape, (96, 96, 3))
    self.assertEqual(task.pixel_mean, (0.4409, 0.4279, 0.3868))
    self.assertEqual(task.pixel_standard_deviation, (0.2683, 0.2610, 0.2687))
    self.assertEqual((task.model_depth, task.model_width), (37, 2))
    self.assertLen(task.class_names, 10)

  def test_weak_views(self):
    self.assert_weak_views(self._task, flip=True, padding=12)

  def test_loads_images_of_unknown_class_apart(self):
    train = tfds_files.random_images(20, 96, 10, seed=1)
    test = tfds_files.random_images(10, 96, 10, seed=2)
    unlabeled = tfds_files.random_images(30, 96, 10, seed=3)._replace(
      labels=np.full(30, -1, np.int32)
    )
    found = self.load(
      stl10.STL10(),
      'stl10',
      {'train': train, 'test': test, 'unlabelled': unlabeled},
    )
    self.assert_same_images(found.train, train)
    self.assert_same_images(found.test, test)
    self.assertAllEqual(found.unlabeled, unlabeled.images)


if __name__ == '__main__':
  absltest.main()
