# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for EMNIST, and for the variants of tasks of Zhang et al. (C.6)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tasks import cifar10
from tasks import emnist
from tasks import svhn
from tests.data import tfds_files
from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.augment import fixmatch_policy
from tff_semifl.experiments import task_registry
from tff_semifl.randomness import random_draws

_SEED = tf.constant([1, 2])


def _noise(task):
  return tf.constant(
    np.random.default_rng(0).integers(
      256, size=(20, *task.image_shape), dtype=np.uint8
    )
  )


class ViewsTestCase(tf.test.TestCase):
  def assert_views(self, task, *, flip, padding):
    images = _noise(task)
    shifted = augmentation.flip_and_crop(
      images, _SEED, flip=flip, padding=padding
    )
    self.assertAllEqual(task.weak_augmentation(images, _SEED), shifted)
    fresh, operations = (random_draws.fold_in(_SEED, key) for key in (0, 1))
    augment = fixmatch_policy.build_fixmatch_pytorch_rand_augment()
    self.assertAllEqual(
      task.strong_augmentation(images, _SEED),
      augment(
        augmentation.flip_and_crop(images, fresh, flip=flip, padding=padding),
        operations,
      ),
    )


class EmnistTest(ViewsTestCase):
  def test_constants_are_the_published_ones(self):
    task = emnist.EMNIST().create()
    self.assertEqual(task.image_shape, (28, 28, 1))
    self.assertEqual(task.pixel_mean, (0.1307,))
    self.assertEqual(task.pixel_standard_deviation, (0.3081,))
    # Equally many of each class, 4,700 in all (E.1).
    self.assertEqual(task.num_labeled, 100 * 47)
    names = task.class_names
    self.assertLen(names, 47)
    self.assertEqual((names[0], names[10], names[35]), ('0', 'A', 'Z'))
    # 15 letters look alike (appendix A.1 of Zhang et al.).
    alike = 'CIJKLMOPSUVWXYZ'
    self.assertEqual(
      set('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
      - {name.upper() for name in names if name.islower()},
      set(alike),
    )

  def test_views_are_those_of_zhang2020(self):
    """A flip (D28), and 28 / 8 rounded down."""
    self.assert_views(emnist.EMNIST().create(), flip=True, padding=3)

  def test_loads_images_as_they_are(self):
    train, test = (
      tfds_files.random_images(n, 28, 47, seed=n, num_channels=1)
      for n in (20, 10)
    )
    data_dir = self.create_tempdir().full_path
    self.enter_context(tfds_files.offline())
    tfds_files.write(
      'emnist/balanced', data_dir, {'train': train, 'test': test}
    )
    task = emnist.EMNIST(data_dir=data_dir).create()
    found = task.load()
    for a, b in ((found.train, train), (found.test, test)):
      np.testing.assert_array_equal(a.images, b.images)
      np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(task.load_test_images().labels, test.labels)


class BenchmarkViewsTest(ViewsTestCase, parameterized.TestCase):
  @parameterized.parameters(cifar10.CIFAR10, svhn.SVHN)
  def test_views_and_numbers_are_those_of_zhang2020(self, part):
    """A flip (D28), of digits of house numbers, too."""
    task = part(zhang2020_augmentation=True).create()
    self.assert_views(task, flip=True, padding=4)
    # CIFAR-10's for both (D23).
    self.assertEqual(task.pixel_mean, (0.4914, 0.4822, 0.4465))
    self.assertEqual(task.pixel_standard_deviation, (0.2471, 0.2435, 0.2616))
    # The least that their tables have.
    self.assertEqual(task.num_labeled, 1000)
    self.assertEqual(task.class_names, part().create().class_names)

  def test_are_of_the_tasks_that_their_paper_varies_so(self):
    having = {
      name
      for name, part in task_registry.TASKS.items()
      if 'zhang2020_augmentation' in settings.as_dict(part)
    }
    self.assertEqual(having, {'cifar10', 'svhn'})


if __name__ == '__main__':
  absltest.main()
