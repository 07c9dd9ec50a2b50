# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of image tasks, and of all tasks in the registry."""

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import image_task
from tff_semifl.experiment import task_registry

_SEED = tf.constant([3, 4])


class WeakThenStrongTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._seeds = {}

  def _fake(self, name, change):
    def augment(images, seed):
      self._seeds[name] = tuple(seed.numpy())
      return change(images)

    return augment

  def test_strong_gets_the_weak_view(self):
    augment = image_task.weak_then_strong(
      self._fake('weak', lambda x: x + 1), self._fake('strong', lambda x: 2 * x)
    )
    # 2 * (5 + 1), not 2 * 5 + 1.
    self.assertAllEqual(augment(tf.constant([5]), _SEED), [12])

  def test_both_have_seeds_of_their_own(self):
    augment = image_task.weak_then_strong(
      self._fake('weak', tf.identity), self._fake('strong', tf.identity)
    )
    augment(tf.constant([5]), _SEED)
    first = dict(self._seeds)
    # The weak augmentation has its own seed, not the seed that others use.
    self.assertLen({*first.values(), tuple(_SEED.numpy())}, 3)
    augment(tf.constant([5]), _SEED)
    self.assertEqual(self._seeds, first)
    augment(tf.constant([5]), _SEED + 1)
    self.assertNoCommonElements(self._seeds.values(), first.values())

  def test_images_without_weak_augmentation(self):
    data = commands.create_data({'task': 'digits'})
    images = tf.range(8 * 8 * 5)[:, tf.newaxis] % 256
    images = tf.cast(tf.reshape(images, [5, 8, 8, 1]), tf.uint8)
    seed = tf.constant([1, 2])
    self.assertNotAllEqual(
      data.create_task().weak_augmentation(images, seed), images
    )
    task = settings.change(data, {'weak_augmentation': 'none'}).create_task()
    self.assertAllEqual(task.weak_augmentation(images, seed), images)
    # Strong augmentation is RandAugment alone.
    given = []
    strong = task.strong_augmentation._replace(
      strong=lambda images, seed: given.append(images) or images
    )
    strong(images, seed)
    self.assertAllEqual(given[0], images)


# The other tasks need files of a user.
_NAMES = sorted(task_registry.TASKS.keys() - {'image_folder', 'features'})


class RegistryTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(_NAMES)
  def test_task_is_consistent(self, name):
    task = task_registry.TASKS[name].create()
    self.assertIsInstance(task, image_task.ImageTask)
    num_channels = task.image_shape[2]
    self.assertLen(task.pixel_mean, num_channels)
    self.assertLen(task.pixel_standard_deviation, num_channels)
    self.assertEqual(task.num_classes, len(set(task.class_names)))
    # Each class has equally many labeled images.
    self.assertEqual(task.num_labeled % task.num_classes, 0)


if __name__ == '__main__':
  absltest.main()
