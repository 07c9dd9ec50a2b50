# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the figures of an experiment's data."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tasks import digits
from tests import small_digits
from tff_semifl.data import sources
from tff_semifl.experiment import data_figures
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
    fig, note = data_figures.draw_augmentations(
      self._task, self._images, seed=0, num_images=2
    )
    shown = [axis.get_images()[0].get_array() for axis in fig.axes]
    self.assertLen(shown, 2 * 10)
    for image, row in zip(self._images, (shown[:10], shown[10:]), strict=False):
      np.testing.assert_array_equal(row[0], np.broadcast_to(image, [8, 8, 3]))
      self.assertGreater(len(np.unique(row[2:], axis=0)), 3)
    self.assertEqual(fig.get_supxlabel(), note)

  def test_counts_blank_images(self):
    # 40 with stripes, then 40 of a single level, of which half are looked at.
    stripes = np.resize(np.array([0, 200], np.uint8), 4)
    levels = np.concatenate([np.tile(stripes, [40, 1]), np.full([40, 4], 7)])
    images = np.tile(np.uint8(levels)[..., None, None], [1, 1, 6, 3])

    def augment(images, seed):
      del seed  # Unused.
      # Levels of 99 and 101: a hundredth of the contrast.
      return tf.concat([images[:3] // 100 + 99, images[3:] // 2], axis=0)

    self.assertEqual(
      data_figures.count_blank(images, augment, seed=0), (3 * 8, 32 * 8)
    )
    self.assertEqual(
      data_figures.count_blank(images[40:], augment, seed=0), (0, 0)
    )

  def test_client_without_images_has_no_mix_of_classes(self):
    halves = np.split(np.arange(20), 2)
    found = [
      data_figures.draw_partition(
        self._task,
        self._split(np.arange(20) % 10, [*halves, *others]),
        'digits',
      )[1]
      for others in ([], [np.arange(0)])
    ]
    self.assertEqual(found, ['0.000', '0.000'])


if __name__ == '__main__':
  absltest.main()
