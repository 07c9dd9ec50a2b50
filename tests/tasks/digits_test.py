# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of scikit-learn's digits."""

import numpy as np
from sklearn import datasets
import tensorflow as tf

from tasks import digits


class DigitsTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._task = digits.Digits().create()
    data = cls._task.load()
    cls._train, cls._test = data.train, data.test
    cls._original = datasets.load_digits()

  def test_shapes(self):
    # A fifth of 1,797 = 5 * 359 + 2, rounded up.
    for data, num_images in ((self._train, 1437), (self._test, 360)):
      self.assertEqual(data.images.shape, (num_images, 8, 8, 1))
      self.assertEqual(data.images.dtype, np.uint8)
      self.assertEqual(data.labels.shape, (num_images,))
      self.assertEqual(data.labels.dtype, np.int32)
    self.assertEqual(self._task.image_shape, (8, 8, 1))

  def test_holds_all_images_of_the_package_once(self):
    # All images differ, so that an image identifies its label.
    self.assertLen({image.tobytes() for image in self._original.images}, 1797)
    labels = {
      (image * 255 / 16).round().astype(np.uint8).tobytes(): label
      for image, label in zip(
        self._original.images, self._original.target, strict=True
      )
    }
    found = {
      image.tobytes(): label
      for data in (self._train, self._test)
      for image, label in zip(data.images, data.labels, strict=True)
    }
    self.assertEqual(found, labels)

  def test_pixel_statistics_are_those_of_the_training_images(self):
    pixels = self._train.images / 255
    self.assertAllClose(self._task.pixel_mean, [pixels.mean()], atol=0.005)
    self.assertAllClose(
      self._task.pixel_standard_deviation, [pixels.std()], atol=0.005
    )
