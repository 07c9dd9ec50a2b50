# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the figures of an experiment's data."""

from absl.testing import absltest
import numpy as np

from launch import show_data
from tasks import digits
from tests import small_digits
from tff_semifl.data import sources
from tff_semifl.experiment import federated_data


class DataFiguresTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._task = small_digits.SmallDigits().create()
    self._images = digits.Digits().create().load().train.images[:20]

  def _split(self, labels, shares):
    images = sources.LabeledImages(self._images, np.asarray(labels, np.int32))
    return federated_data.FederatedData(
      images, sources.ImagePool(*images), shares, images
    )

  def test_shows_original_weak_and_strong_views(self):
    fig = show_data.draw_augmentations(self._task, self._images[:2], seed=0)
    shown = [axis.get_images()[0].get_array() for axis in fig.axes]
    self.assertLen(shown, 2 * 10)
    for image, row in zip(self._images, (shown[:10], shown[10:]), strict=False):
      np.testing.assert_array_equal(row[0], np.broadcast_to(image, [8, 8, 3]))
      self.assertGreater(len(np.unique(row[2:], axis=0)), 3)

  def test_client_without_images_has_no_mix_of_classes(self):
    halves = np.split(np.arange(20), 2)
    found = [
      show_data.draw_partition(
        self._task,
        self._split(np.arange(20) % 10, [*halves, *others]),
        'digits',
      )[1]
      for others in ([], [np.arange(0)])
    ]
    self.assertEqual(found, ['0.000', '0.000'])


if __name__ == '__main__':
  absltest.main()
