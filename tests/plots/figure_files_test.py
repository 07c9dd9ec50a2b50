# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the formats of figure files."""

import pathlib

from absl.testing import absltest
from matplotlib import figure
import numpy as np
import PIL.Image

from tff_semifl.plots import figure_files


class FigureFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._figure = figure.Figure((4, 3))
    self._figure.add_subplot().plot([0, 1], label='line')
    self._figure.legend()
    self._folder = pathlib.Path(self.create_tempdir().full_path) / 'new'

  def test_writes_what_the_names_say(self):
    starts = {'.png': b'\x89PNG', '.pdf': b'%PDF', '.svg': b'<?xml'}
    files = [self._folder / f'a{suffix}' for suffix in starts]
    figure_files.save(self._figure, files)
    for file, start in zip(files, starts.values(), strict=True):
      self.assertStartsWith(file.read_bytes(), start)

  def test_png_is_fit_for_print(self):
    figure_files.save(self._figure, [self._folder / 'a.png'])
    with PIL.Image.open(self._folder / 'a.png') as image:
      # 200 dots an inch.
      self.assertEqual(image.size, (800, 600))
      self.assertGreater(np.asarray(image.convert('L')).std(), 10)

  def test_pdf_has_no_type_3_font(self):
    figure_files.save(self._figure, [self._folder / 'a.pdf'])
    content = (self._folder / 'a.pdf').read_bytes()
    self.assertIn(b'/FontFile2', content)
    self.assertNotIn(b'/Subtype /Type3', content)


if __name__ == '__main__':
  absltest.main()
