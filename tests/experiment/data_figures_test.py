# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the figures of an experiment's data."""

import pathlib

from absl.testing import absltest
import numpy as np
import PIL.Image
import pytest

from tasks import digits
from tests import small_digits
from tff_semifl.data import sources
from tff_semifl.experiment import data_figures
from tff_semifl.experiment import federated_data


class DataFiguresTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path, 'figures')
    self._images = digits.Digits().create().load().train.images[:20]

  def _draw(self, labels):
    images = sources.LabeledImages(self._images, np.asarray(labels, np.int32))
    data_figures.draw(
      self._folder,
      task=small_digits.SmallDigits().create(),
      data=federated_data.FederatedData(
        labeled=images,
        unlabeled=sources.ImagePool(*images),
        shares=np.split(np.arange(20), 4),
        test=images,
      ),
      title='digits, at random',
      images=self._images,
      seed=0,
    )
    return sorted(path.name for path in self._folder.iterdir())

  @pytest.mark.slow
  def test_draws_both(self):
    self.assertEqual(
      self._draw(np.arange(20) % 10), ['augmentations.png', 'partition.png']
    )
    with PIL.Image.open(self._folder / 'augmentations.png') as fig:
      # Eight rows of 64 pixels, six between them, sixteen above, and two lines
      # of sixteen below on what is left of strong views.
      self.assertEqual(fig.height, 16 + 8 * 70 + 6 + 2 * 16)
      notes = np.asarray(fig.convert('L'))[-2 * 16 :]
      self.assertLess(notes[:16].min(), 50)
      self.assertLess(notes[16:].min(), 50)
    with PIL.Image.open(self._folder / 'partition.png') as fig:
      self.assertGreater(np.asarray(fig.convert('L')).std(), 10)

  def test_client_without_images_has_no_mix_of_classes(self):
    images = sources.ImagePool(self._images, np.arange(20) % 10)
    halves = np.split(np.arange(20), 2)
    found = [
      data_figures.summarize_partition(
        small_digits.SmallDigits().create(),
        federated_data.FederatedData(
          images, images, [*halves, *others], test=images
        ),
        'digits',
      )
      for others in ([], [np.arange(0)])
    ]
    self.assertEqual(found[1].skew, found[0].skew)
    self.assertEqual(found[1].counts.sum(axis=1).tolist(), [10, 10, 0])

  def test_draws_no_classes_that_are_unknown(self):
    unknown = np.full(20, sources.UNKNOWN_LABEL)
    self.assertEqual(self._draw(unknown), ['augmentations.png'])
    # Images of unknown class form a class of their own.
    unknown[0] = 3
    self.assertIn('partition.png', self._draw(unknown))

  def test_what_is_there_stays(self):
    self._folder.mkdir()
    for name in ('augmentations.png', 'partition.png'):
      (self._folder / name).write_text('precious')
    for name in self._draw(np.zeros(20)):
      self.assertEqual((self._folder / name).read_text(), 'precious')


if __name__ == '__main__':
  absltest.main()
