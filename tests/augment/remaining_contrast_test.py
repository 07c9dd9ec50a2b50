# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of how much contrast strong augmentations leave."""

from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl.augment import remaining_contrast


def _unchanged(images, seed):
  del seed  # Unused.
  return images


def _stripes(*levels, num_images=1):
  """Returns images of 4x6 pixels whose rows alternate between these levels."""
  rows = np.resize(np.array(levels, np.uint8), 4)
  return np.broadcast_to(rows[:, None, None], [num_images, 4, 6, 3])


class ContrastTest(absltest.TestCase):
  def test_is_the_standard_deviation_of_pixels_from_their_channels_mean(self):
    images = np.random.default_rng(0).integers(
      256, size=[5, 6, 7, 3], dtype=np.uint8
    )
    found = remaining_contrast.compute_contrast(images)
    for image, contrast in zip(images, found, strict=True):
      centered = image - image.mean(axis=(0, 1))
      self.assertAlmostEqual(contrast, np.sqrt((centered**2).mean()))


class MeasureTest(absltest.TestCase):
  def test_half_the_contrast(self):
    images = _stripes(0, 200, num_images=10)
    found = remaining_contrast.measure(
      images, lambda images, _: images // 2, seed=0
    )
    # Eight views each.
    self.assertEqual(
      found, remaining_contrast.RemainingContrast(0, 80, 0, 0.5, 0.5)
    )

  def test_views_that_are_blank(self):
    images = _stripes(0, 200, num_images=10)

    def first_three_end_gray(images, seed):
      del seed  # Unused.
      return tf.concat([images[:3] // 100 + 99, images[3:]], axis=0)

    found = remaining_contrast.measure(images, first_three_end_gray, seed=0)
    self.assertEqual(found.num_blank_augmented, 3 * 8)
    self.assertEqual(found.median_ratio, 1)
    # Levels of 99 and 101: a standard deviation of 1 instead of 100.
    self.assertAlmostEqual(found.low_ratio, 0.01)
    self.assertStartsWith(
      found.describe()[0], 'strongly augmented images: 24 of 80 are'
    )

  def test_images_that_are_blank_themselves_are_not_counted(self):
    images = np.concatenate([_stripes(0, 200), _stripes(7, num_images=3)])
    found = remaining_contrast.measure(images, _unchanged, seed=0)
    self.assertEqual(
      found, remaining_contrast.RemainingContrast(3, 8, 0, 1.0, 1.0)
    )
    self.assertEqual(
      found.describe()[0], 'blank originals, which are not counted: 3'
    )
    for blank in (images[1:], images[:0]):
      found = remaining_contrast.measure(blank, _unchanged, seed=0)
      self.assertEqual(found.num_augmented, 0)
      self.assertEqual(
        found.describe()[-1],
        'strongly augmented images: none, as all originals are blank',
      )

  def test_of_many_images_some_of_all_classes_are_looked_at(self):
    # Sorted, 100 of each of two classes, one of which is blank.
    images = np.concatenate(
      [_stripes(0, 200, num_images=100), _stripes(7, num_images=100)]
    )
    found = remaining_contrast.measure(images, _unchanged, seed=0)
    self.assertEqual(
      (found.num_blank_images, found.num_augmented), (32, 32 * 8)
    )

  def test_of_large_images_fewer_are_looked_at(self):
    seen = []

    def augment(images, seed):
      del seed  # Unused.
      seen.append(images.shape[0])
      return images

    with mock.patch.object(remaining_contrast, '_MAX_PIXELS', 64 * 16 * 16):
      for size, expected in (((16, 16), 64), ((32, 32), 16), ((99, 99), 8)):
        image = np.zeros([1, *size, 1], np.uint8)
        image[:, : size[0] // 2] = 200
        images = np.broadcast_to(image, [70, *size, 1])
        remaining_contrast.measure(images, augment, seed=0)
        self.assertEqual(seen[-1], expected)


if __name__ == '__main__':
  absltest.main()
