# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that wrapped text has the stated width or less."""

from absl.testing import absltest
from absl.testing import parameterized
from matplotlib import figure

from tff_semifl.plots import figure_text

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
    wrapped = figure_text.wrap(text, width, font_size)
    self.assertLess(_measure(wrapped, font_size)[0], width)
    self.assertEqual(''.join(wrapped.split()), ''.join(text.split()))

  def test_dollars_are_no_formula(self, text='$5 and $6'):
    fig = figure.Figure()
    drawn = fig.text(0, 0, text, fontsize=9, parse_math=False)
    box = drawn.get_window_extent()
    width, _ = _measure(figure_text.wrap(text, 10, 9), 9)
    self.assertAlmostEqual(width, box.width / fig.dpi)

  def test_names_are_not_larger_than_said(self):
    names = figure_text.wrap_names(_TEXTS, 2, font_size=9)
    self.assertEqual(names.texts[-1], 'a')
    self.assertLessEqual(names.length, 2)
    sizes = [_measure(text, 9) for text in names.texts]
    self.assertLess(max(width for width, _ in sizes), names.length)
    self.assertLess(max(height for _, height in sizes), names.height)
    # Names are not much shorter than the limit, either.
    self.assertGreater(max(width for width, _ in sizes), 0.7 * names.length)
    self.assertGreater(max(height for _, height in sizes), 0.7 * names.height)


if __name__ == '__main__':
  absltest.main()
