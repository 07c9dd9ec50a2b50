# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that text of figures fits, and of the formats of figure files."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
from matplotlib import figure
import numpy as np
import PIL.Image

from tff_semifl.plots import figures

_TEXTS = (
  'Chrysanthemum leucanthemum, seen from above, in the rain',
  'consistency_averaging_two_groups (5 runs), in a word',
  '/home/somebody/data/collections/2026/photos_of_flowers_and_animals',
  'a',
)


def _measure(text, font_size):
  """Returns width and height in inches, as drawn by Matplotlib."""
  fig = figure.Figure()
  drawn = fig.text(0, 0, text, fontsize=font_size)
  box = drawn.get_window_extent()
  return box.width / fig.dpi, box.height / fig.dpi


class FigureTextTest(parameterized.TestCase):
  @parameterized.product(text=_TEXTS, width=[0.5, 10], font_size=[9])
  def test_lines_fit_and_nothing_is_lost(self, text, width, font_size):
    wrapped = figures.wrap(text, width, font_size)
    self.assertLess(_measure(wrapped, font_size)[0], width)
    self.assertEqual(''.join(wrapped.split()), ''.join(text.split()))

  def test_dollars_are_no_formula(self, text='$5 and $6'):
    fig = figure.Figure()
    drawn = fig.text(0, 0, text, fontsize=9, parse_math=False)
    box = drawn.get_window_extent()
    width, _ = _measure(figures.wrap(text, 10, 9), 9)
    self.assertAlmostEqual(width, box.width / fig.dpi)

  def test_names_are_not_larger_than_said(self):
    names = figures.wrap_names(_TEXTS, 2, font_size=9)
    self.assertEqual(names.texts[-1], 'a')
    self.assertLessEqual(names.length, 2)
    sizes = [_measure(text, 9) for text in names.texts]
    self.assertLess(max(width for width, _ in sizes), names.length)
    self.assertLess(max(height for _, height in sizes), names.height)
    # Names are not much shorter than the limit, either.
    self.assertGreater(max(width for width, _ in sizes), 0.7 * names.length)
    self.assertGreater(max(height for _, height in sizes), 0.7 * names.height)


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
    figures.save(self._figure, files)
    for file, start in zip(files, starts.values(), strict=True):
      self.assertStartsWith(file.read_bytes(), start)

  def test_png_is_fit_for_print(self):
    figures.save(self._figure, [self._folder / 'a.png'])
    with PIL.Image.open(self._folder / 'a.png') as image:
      # 200 dots an inch.
      self.assertEqual(image.size, (800, 600))
      self.assertGreater(np.asarray(image.convert('L')).std(), 10)

  def test_pdf_has_no_type_3_font(self):
    figures.save(self._figure, [self._folder / 'a.pdf'])
    content = (self._folder / 'a.pdf').read_bytes()
    self.assertIn(b'/FontFile2', content)
    self.assertNotIn(b'/Subtype /Type3', content)


if __name__ == '__main__':
  absltest.main()
