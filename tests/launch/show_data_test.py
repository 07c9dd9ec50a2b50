# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the summary of a partition, and of the figures of data."""

import contextlib
import io
import pathlib

from absl.testing import absltest
import PIL.Image

from launch import show_data
from tests import small_digits
from tff_semifl.cli import commands


class ShowDataTest(absltest.TestCase):
  def test_iid(self):
    # 1,437 digits for training minus 50 labels: 1,387 = 10 * 138 + 7.
    folder = pathlib.Path(self.create_tempdir().full_path) / 'new'
    with contextlib.redirect_stdout(io.StringIO()) as output:
      show_data.main(
        show_data.ShowData(output_dir=str(folder)),
        commands.create_data(
          {'task': small_digits.SETTINGS['task'], 'num_clients': 10}
        ),
      )
    title, *lines, skew, note, partition, augmentations = (
      output.getvalue().splitlines()
    )
    self.assertEndsWith(title, ', iid, 10 clients, seed 0')
    self.assertEqual(
      lines,
      [
        'images with labels: 50',
        'images without: 1387, of which 7 with no client',
        'images per client: 138 at least, 138 in the median, 138 at most',
      ],
    )
    # For 138 draws the fraction of a class has a standard deviation of sqrt(0.1
    # * 0.9 / 138) = 0.026. Two fractions differ by 0.026 * 2 / sqrt(pi) = 0.029
    # on average, and R is half the sum of ten such differences.
    self.assertRegex(note, '^note: 7 of 1387 images have no client')
    self.assertRegex(skew, r'^R, from 0 .* to 1 .*: 0\.1\d\d$')
    for line, name in (
      (partition, 'partition'),
      (augmentations, 'augmentations'),
    ):
      self.assertEqual(line, f'figure: {folder}/{name}.png')
      with PIL.Image.open(folder / f'{name}.png') as image:
        self.assertGreater(min(image.size), 300)
