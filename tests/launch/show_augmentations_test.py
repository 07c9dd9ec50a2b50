# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the figure of augmentations."""

import contextlib
import io
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from PIL import Image
import pytest

from launch import show_augmentations
from tff_semifl import settings
from tff_semifl.augment import remaining_contrast
from tff_semifl.cli import commands


def _choose(**values):
  """Returns the settings that flags of these values make."""
  return commands.create_data({'task': 'digits'} | values)


def _read(path):
  """Returns the figure as uint8 [height, width, 3]."""
  with Image.open(path) as image:
    assert image.format == 'PNG'
    return np.asarray(image.convert('RGB'))


class ShowAugmentationsTest(parameterized.TestCase):
  def _show(self, **values):
    """Runs the program in this process; returns its figure and its lines."""
    path = pathlib.Path(self.create_tempdir().full_path, 'new', 'figure.png')
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      show_augmentations.main(
        show_augmentations.ShowAugmentations(
          num_images=3, output_file=str(path)
        ),
        _choose(**values),
      )
    *lines, last = output.getvalue().splitlines()
    self.assertEqual(last, f'figure: {path}')
    return _read(path), lines

  @parameterized.parameters(None, 'semifl')
  @pytest.mark.slow
  def test_says_how_much_of_strong_views_is_left(self, name):
    measure, measured = remaining_contrast.measure, []

    def watch(images, strong, *, seed):
      # The statistics are of all images, not only of those shown.
      self.assertLen(images, 1437)
      measured.append(measure(images, strong, seed=seed))
      return measured[0]

    with mock.patch.object(remaining_contrast, 'measure', watch):
      _, lines = self._show(strong_augmentation=name)
    [found] = measured
    self.assertEqual(lines, found.describe())
    # Of 8x8 pixels, two shifts and a gray box of SemiFL's 15 operations leave
    # nothing; two are drawn, and each is applied half of the time.
    share = 1 - (1 - 3 / 15 * 1 / 2) ** 2 if name else 0
    deviation = np.sqrt(share * (1 - share) / 512)
    self.assertAlmostEqual(
      found.num_blank_augmented / 512, share, delta=4 * deviation
    )

  def test_too_many_images(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^num_images=10000: there are 1437 images'
    ):
      show_augmentations.main(
        show_augmentations.ShowAugmentations(num_images=10000), _choose()
      )


if __name__ == '__main__':
  absltest.main()
