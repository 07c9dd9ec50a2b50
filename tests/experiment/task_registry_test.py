# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for all tasks with a name."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tff_semifl.experiment import image_task
from tff_semifl.experiment import models
from tff_semifl.experiment import task_registry

_SEED = tf.constant([1, 2])
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

  @parameterized.parameters(_NAMES)
  def test_views_keep_shape_and_dtype_and_only_strong_ones_change_colors(
    self, name
  ):
    task = task_registry.TASKS[name].create()
    images = np.random.default_rng(0).integers(
      256, size=(50, *task.image_shape), dtype=np.uint8
    )
    # Black stays black when it is shifted or flipped, but not when it is, say,
    # brightened.
    images[10:] = 0
    for augment in (task.weak_augmentation, task.strong_augmentation):
      views = augment(tf.constant(images), _SEED)
      self.assertEqual(views.dtype, tf.uint8)
      self.assertEqual(views.shape, images.shape)
      self.assertNotAllEqual(views[:10], images[:10])
      is_black = not np.any(views[10:])
      self.assertEqual(is_black, augment is task.weak_augmentation)

  @parameterized.parameters(_NAMES)
  @pytest.mark.slow
  def test_model_fits_the_images(self, name):
    task = task_registry.TASKS[name].create()
    model = models.WideResNet(model_width=1).create(task, seed=0)
    logits = model(tf.zeros([2, *task.image_shape]))
    self.assertEqual(logits.shape, [2, task.num_classes])


if __name__ == '__main__':
  absltest.main()
