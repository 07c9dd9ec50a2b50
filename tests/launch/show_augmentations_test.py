# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the figure of augmentations."""

import contextlib
import io
import pathlib

from absl.testing import absltest
import PIL.Image

from launch import show_augmentations
from tff_semifl import settings
from tff_semifl.cli import commands


def _show(**values):
  show_augmentations.main(
    show_augmentations.ShowAugmentations(**values),
    commands.create_data({'task': 'digits'}),
  )


class ShowAugmentationsTest(absltest.TestCase):
  def test_writes_a_figure_and_says_what_is_left_of_strong_views(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'new', 'figure.png')
    with contextlib.redirect_stdout(io.StringIO()) as output:
      _show(num_images=3, output_file=str(path))
    *notes, last = output.getvalue().splitlines()
    self.assertNotEmpty(notes)
    self.assertEqual(last, f'figure: {path}')
    with PIL.Image.open(path) as image:
      self.assertEqual(image.format, 'PNG')

  def test_too_many_images(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^num_images=10000: there are 1437 images'
    ):
      _show(num_images=10000)


if __name__ == '__main__':
  absltest.main()
