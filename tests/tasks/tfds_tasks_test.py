# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the tasks of TFDS: published constants, augmentations, and splits.

A few images of noise, in TFDS' format, stand for the data sets.
"""

import dataclasses

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tasks import cifar
from tasks import emnist
from tasks import svhn
from tests.data import tfds_files
from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_policy
from tff_semifl.experiment import models
from tff_semifl.randomness import random_draws

_SEED = tf.constant([1, 2])


def _noise(task):
  return tf.constant(
    np.random.default_rng(0).integers(
      256, size=(20, *task.image_shape), dtype=np.uint8
    )
  )


class ConstantsTest(parameterized.TestCase, tf.test.TestCase):
  # Constants of SemiFL's code, and of Zhang et al.
  @parameterized.parameters(
    (
      cifar.CIFAR10(),
      (32, 32, 3),
      (0.4914, 0.4822, 0.4465),
      (0.2023, 0.1994, 0.2010),
      (28, 2, 4000, 10),
    ),
    (
      cifar.CIFAR100(),
      (32, 32, 3),
      (0.5071, 0.4865, 0.4409),
      (0.2673, 0.2564, 0.2762),
      (28, 8, 10_000, 100),
    ),
    (
      svhn.SVHN(),
      (32, 32, 3),
      (0.4377, 0.4438, 0.4728),
      (0.1980, 0.2010, 0.1970),
      (28, 2, 1000, 10),
    ),
    (emnist.EMNIST(), (28, 28, 1), (0.1307,), (0.3081,), (28, 2, 4700, 47)),
    # CIFAR-10's constants for both, and the least labels of their tables.
    *(
      (
        part(zhang2020_augmentation=True),
        (32, 32, 3),
        (0.4914, 0.4822, 0.4465),
        (0.2471, 0.2435, 0.2616),
        (28, 2, 1000, 10),
      )
      for part in (cifar.CIFAR10, svhn.SVHN)
    ),
  )
  def test_are_the_published_ones(self, part, shape, mean, deviation, numbers):
    task = part.create()
    self.assertEqual(task.image_shape, shape)
    self.assertEqual(task.pixel_mean, mean)
    self.assertEqual(task.pixel_standard_deviation, deviation)
    self.assertEqual(
      (task.model_depth, task.model_width, task.num_labeled, task.num_classes),
      numbers,
    )

  def test_classes_are_in_the_order_of_their_labels(self):
    names = cifar.CIFAR100().create().class_names
    self.assertEqual(sorted(set(names)), list(names))
    names = emnist.EMNIST().create().class_names
    self.assertEqual((names[0], names[10], names[35]), ('0', 'A', 'Z'))
    # 15 letters look alike (appendix A.1 of Zhang et al.).
    self.assertEqual(
      set('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
      - {name.upper() for name in names if name.islower()},
      set('CIJKLMOPSUVWXYZ'),
    )

  @pytest.mark.slow
  def test_published_parameter_count(self):
    task = cifar.CIFAR100().create()
    model = models.WideResNet().create(task, seed=0)
    self.assertEqual(
      sum(int(np.prod(w.shape)) for w in model.trainable_weights), 23_401_012
    )


class ViewsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (cifar.CIFAR10(), True, 4),
    (cifar.CIFAR100(), True, 4),
    # As in SemiFL's code, unlike Zhang et al.
    (svhn.SVHN(), False, 4),
  )
  def test_weak_views(self, part, flip, padding):
    task = part.create()
    images = _noise(task)
    views = task.weak_augmentation(images, _SEED)
    self.assertAllEqual(
      views,
      augmentation.flip_and_crop(images, _SEED, flip=flip, padding=padding),
    )

  @parameterized.parameters(
    (emnist.EMNIST(), 3),
    (cifar.CIFAR10(zhang2020_augmentation=True), 4),
    (svhn.SVHN(zhang2020_augmentation=True), 4),
  )
  def test_views_of_zhang2020(self, part, padding):
    """Augmentation flips images, also of letters and digits."""
    task = part.create()
    images = _noise(task)

    def shift(seed):
      return augmentation.flip_and_crop(
        images, seed, flip=True, padding=padding
      )

    self.assertAllEqual(task.weak_augmentation(images, _SEED), shift(_SEED))
    fresh, operations = (random_draws.fold_in(_SEED, key) for key in (0, 1))
    augment = fixmatch_policy.build_fixmatch_pytorch_rand_augment()
    self.assertAllEqual(
      task.strong_augmentation(images, _SEED), augment(shift(fresh), operations)
    )


class SplitsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (cifar.CIFAR10(), 'cifar10', 10),
    # Fine labels; all written coarse labels are 0.
    (cifar.CIFAR100(), 'cifar100', 100),
    # Two splits, without the third.
    (svhn.SVHN(), 'svhn_cropped', 10, 'extra'),
    (emnist.EMNIST(), 'emnist/balanced', 47),
  )
  def test_loads(self, part, name, num_classes, *others):
    size, _, num_channels = part.create().image_shape
    splits = {
      split: tfds_files.random_images(
        20, size, num_classes, seed=seed, num_channels=num_channels
      )
      for seed, split in enumerate(('train', 'test', *others))
    }
    data_dir = self.create_tempdir().full_path
    self.enter_context(tfds_files.offline())
    tfds_files.write(name, data_dir, splits)
    task = dataclasses.replace(part, data_dir=data_dir).create()
    data = task.load()
    for found, written in (
      (task.load_test_images(may_download=False), splits['test']),
      (data.test, splits['test']),
      (data.train, splits['train']),
    ):
      self.assertEqual(found.images.dtype, np.uint8)
      self.assertEqual(found.labels.dtype, np.int32)
      np.testing.assert_array_equal(found.images, written.images)
      np.testing.assert_array_equal(found.labels, written.labels)
