# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that figures show each count, that text fits, and of file formats."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
from matplotlib import figure
import numpy as np
import PIL.Image

from tests.plots import cut_text
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


_CONFUSION = np.array([[3, 1, 0], [0, 0, 0], [5, 0, 15]])
_NAMES = ('cat', 'dog', 'owl')
_COUNTS = np.array([[0, 3], [7, 1], [2, 2]])
_TWO_NAMES = ('cat', 'dog')


class ConfusionFigureTest(parameterized.TestCase):
  def test_rows_are_classes_and_columns_what_they_are_taken_for(self):
    axes, colors = figures.create_confusion(_CONFUSION, _NAMES, 'Three').axes
    (image,) = axes.images
    np.testing.assert_allclose(
      # A class without images has no shares.
      image.get_array(),
      [[0.75, 0.25, 0], [0, 0, 0], [0.25, 0, 0.75]],
    )
    self.assertEqual(image.origin, 'upper')
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
      self.assertEqual([text.get_text() for text in labels], [*_NAMES])
    self.assertEqual(
      {(*text.get_position(), text.get_text()) for text in axes.texts},
      # Column, row.
      {(0, 0, '3'), (1, 0, '1'), (0, 2, '5'), (2, 2, '15')},
    )
    self.assertEqual(axes.get_title(), 'Three')
    self.assertEqual(axes.get_xlabel(), 'taken for')
    self.assertEqual(axes.get_ylabel(), 'class')
    self.assertEqual(colors.get_ylabel(), "share of the class's images")

  @parameterized.parameters((2, 'a name ' * 8), (40, ''))
  def test_nothing_is_cut_off(self, num_classes, name):
    fig = figures.create_confusion(
      np.eye(num_classes, dtype=int),
      [f'{name}{n}' for n in range(num_classes)],
      f'{name}semifl_digits_50_iid_seed0: 95.0% of 360 test images',
    )
    self.assertEqual(cut_text.measure(fig), 0)


class PartitionFigureTest(parameterized.TestCase):
  def test_each_count_is_at_its_client_and_class(self):
    axes, _ = figures.create_partition(_COUNTS, _TWO_NAMES, 'Two').axes
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), _COUNTS.T)
    # Classes from top to bottom, clients from left to right.
    self.assertEqual(image.origin, 'upper')
    self.assertEqual(
      [text.get_text() for text in axes.get_yticklabels()], ['cat', 'dog']
    )
    np.testing.assert_array_equal(axes.get_yticks(), [0, 1])

  @parameterized.parameters((2, 1), (100, 40))
  def test_nothing_is_cut_off(self, num_clients, num_classes):
    fig = figures.create_partition(
      np.ones([num_clients, num_classes], int),
      [f'{n}, {"a name of many words " * (n % 5)}' for n in range(num_classes)],
      'image_folder, as in /home/somebody/data/collections/2026/flowers,'
      ' 6 clients: R unknown, as the class of 480 images is',
    )
    self.assertEqual(cut_text.measure(fig), 0)


if __name__ == '__main__':
  absltest.main()
