# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that figures show each count at its place, and are legible."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tests.experiment import cut_text
from tff_semifl.plots import matrix_figures

_CONFUSION = np.array([[3, 1, 0], [0, 0, 0], [5, 0, 15]])
_NAMES = ('cat', 'dog', 'owl')
_COUNTS = np.array([[0, 3], [7, 1], [2, 2]])
_TWO_NAMES = ('cat', 'dog')


class ConfusionFigureTest(parameterized.TestCase):
  def test_rows_are_classes_and_columns_what_they_are_taken_for(self):
    axes, colors = matrix_figures.create_confusion(
      _CONFUSION, _NAMES, 'Three'
    ).axes
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

  @parameterized.parameters(30, 31)
  @pytest.mark.slow
  def test_words_do_not_overlap(self, num_classes):
    generator = np.random.default_rng(0)
    figure = matrix_figures.create_confusion(
      generator.integers(1, 1000, size=[num_classes, num_classes]),
      [f'some class {n}' for n in range(num_classes)],
      '',
    )
    figure.draw_without_rendering()
    axes, _ = figure.axes
    rows = [text.get_window_extent() for text in axes.get_yticklabels()]
    columns = [text.get_window_extent() for text in axes.get_xticklabels()]
    for upper, lower in zip(rows, rows[1:], strict=False):
      self.assertGreaterEqual(upper.y0, lower.y1 - 1)
    for left, right in zip(columns, columns[1:], strict=False):
      self.assertGreaterEqual(right.x0, left.x1 - 1)
    numbers = [text.get_window_extent() for text in axes.texts]
    self.assertLen(numbers, num_classes**2 if num_classes <= 30 else 0)
    for left, right in zip(numbers, numbers[1:], strict=False):
      self.assertTrue(right.x0 >= left.x1 or right.y0 != left.y0)

  def test_numbers_stand_out(self, num_classes=10):
    confusion = np.diag(np.arange(1, num_classes + 1))
    confusion[0, 1] = 1  # Half of the first class, in medium blue.
    axes, _ = matrix_figures.create_confusion(
      confusion, [str(n) for n in range(num_classes)], ''
    ).axes
    (image,) = axes.images
    for text in axes.texts:
      column, row = text.get_position()
      red, green, blue, _ = image.to_rgba(image.get_array())[row, column]
      background = 0.2126 * red + 0.7152 * green + 0.0722 * blue
      foreground = 1.0 if text.get_color() == 'white' else 0.0
      self.assertGreater(abs(background - foreground), 0.4)

  @parameterized.parameters((2, 'a name ' * 8), (40, ''))
  def test_nothing_is_cut_off(self, num_classes, name):
    figure = matrix_figures.create_confusion(
      np.eye(num_classes, dtype=int),
      [f'{name}{n}' for n in range(num_classes)],
      f'{name}semifl_digits_50_iid_seed0: 95.0% of 360 test images',
    )
    self.assertEqual(cut_text.measure(figure), 0)


class PartitionFigureTest(parameterized.TestCase):
  def test_each_count_is_at_its_client_and_class(self):
    axes, _ = matrix_figures.create_partition(_COUNTS, _TWO_NAMES, 'Two').axes
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), _COUNTS.T)
    # Classes from top to bottom, clients from left to right.
    self.assertEqual(image.origin, 'upper')
    self.assertEqual(
      [text.get_text() for text in axes.get_yticklabels()], ['cat', 'dog']
    )
    np.testing.assert_array_equal(axes.get_yticks(), [0, 1])

  @parameterized.parameters(1, 700)
  def test_numbers_of_images_are_whole(self, most):
    counts = np.array([[0, most]])
    figure = matrix_figures.create_partition(counts, _TWO_NAMES, '')
    figure.draw_without_rendering()
    _, colors = figure.axes
    ticks = colors.get_yticks()
    np.testing.assert_array_equal(ticks, np.rint(ticks))
    self.assertGreater(len(ticks), 1)

  def test_names_of_classes_do_not_overlap(self, num_classes=100):
    figure = matrix_figures.create_partition(
      np.ones([5, num_classes], int),
      [f'class {n}' for n in range(num_classes)],
      '',
    )
    figure.draw_without_rendering()
    boxes = [
      text.get_window_extent() for text in figure.axes[0].get_yticklabels()
    ]
    self.assertLen(boxes, num_classes)
    for upper, lower in zip(boxes, boxes[1:], strict=False):
      self.assertGreaterEqual(upper.y0, lower.y1 - 1)

  @parameterized.parameters((2, 1), (100, 40))
  def test_nothing_is_cut_off(self, num_clients, num_classes):
    figure = matrix_figures.create_partition(
      np.ones([num_clients, num_classes], int),
      [f'{n}, {"a name of many words " * (n % 5)}' for n in range(num_classes)],
      'image_folder, as in /home/somebody/data/collections/2026/flowers,'
      ' 6 clients: R unknown, as the class of 480 images is',
    )
    self.assertEqual(cut_text.measure(figure), 0)


if __name__ == '__main__':
  absltest.main()
