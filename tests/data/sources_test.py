# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for image data sets as arrays."""

from absl.testing import absltest
import numpy as np

from tests.data import tfds_files
from tff_semifl.data import sources


class LabeledImagesTest(absltest.TestCase):
  def test_select(self):
    data = tfds_files.random_cifar10(5, seed=0)
    selected = data.select(np.array([3, 0, 3]))
    np.testing.assert_array_equal(
      selected.images, [data.images[3], data.images[0], data.images[3]]
    )
    np.testing.assert_array_equal(
      selected.labels, [data.labels[3], data.labels[0], data.labels[3]]
    )

  def test_batches(self):
    data = tfds_files.random_cifar10(5, seed=0)
    batches = list(data.batches(2))
    self.assertEqual([len(batch.labels) for batch in batches], [2, 2, 1])
    for whole, parts in zip(data, zip(*batches, strict=True), strict=True):
      np.testing.assert_array_equal(whole, np.concatenate(parts))


class MeasurePixelsTest(absltest.TestCase):
  def test_equals_numpys(self):
    images = tfds_files.random_cifar10(20, seed=0).images
    mean, standard_deviation = sources.measure_pixels(images)
    scaled = images / 255
    np.testing.assert_allclose(mean, scaled.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(standard_deviation, scaled.std(axis=(0, 1, 2)))

  def test_constant_channel_can_be_divided_by(self):
    images = np.full([2, 3, 3, 1], 51, np.uint8)
    # 51 of 255 is a fifth; a gray level is the least.
    np.testing.assert_allclose(
      sources.measure_pixels(images), [[0.2], [1 / 255]]
    )


if __name__ == '__main__':
  absltest.main()
