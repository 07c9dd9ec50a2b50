# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that figures show each count, and of file formats."""

import pathlib

from absl.testing import absltest
from matplotlib import figure
import numpy as np
import PIL.Image

from tff_semifl.plots import figures


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
      # 200 dots per inch.
      self.assertGreater(min(image.size), 500)
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


class ConfusionFigureTest(absltest.TestCase):
  def test_rows_are_classes_and_columns_what_they_are_taken_for(self):
    axes, colors = figures.create_confusion(_CONFUSION, _NAMES, 'Three').axes
    (image,) = axes.images
    np.testing.assert_allclose(
      # A class without images has no fractions.
      image.get_array(),
      [[0.75, 0.25, 0], [0, 0, 0], [0.25, 0, 0.75]],
    )
    self.assertEqual(image.origin, 'upper')
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
      self.assertEqual([text.get_text() for text in labels], [*_NAMES])
    self.assertEqual(
      {(*text.get_position(), text.get_text()) for text in axes.texts},
      {(0, 0, '3'), (1, 0, '1'), (0, 2, '5'), (2, 2, '15')},
    )
    self.assertEqual(axes.get_title(), 'Three')
    self.assertEqual(axes.get_xlabel(), 'taken for')
    self.assertEqual(axes.get_ylabel(), 'class')
    self.assertEqual(colors.get_ylabel(), "share of the class's images")


class PartitionFigureTest(absltest.TestCase):
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


if __name__ == '__main__':
  absltest.main()
