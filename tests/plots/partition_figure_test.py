# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that the figure shows each count at its place, and is legible."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.runs import cut_text
from tff_semifl.plots import partition_figure

_COUNTS = np.array([[0, 3], [7, 1], [2, 2]])
_NAMES = ('cat', 'dog')


class PartitionFigureTest(parameterized.TestCase):
  def test_each_count_is_at_its_client_and_class(self):
    axes, _ = partition_figure.create_figure(_COUNTS, _NAMES, 'Two').axes
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
    figure = partition_figure.create_figure(counts, _NAMES, '')
    figure.draw_without_rendering()
    _, colors = figure.axes
    ticks = colors.get_yticks()
    np.testing.assert_array_equal(ticks, np.rint(ticks))
    self.assertGreater(len(ticks), 1)

  def test_more_is_darker_whatever_colors_one_sees(self):
    axes, _ = partition_figure.create_figure(_COUNTS, _NAMES, '').axes
    (image,) = axes.images
    red, green, blue, _ = image.to_rgba(np.arange(8)).T
    # Relative luminance, and each of the channels never lighter.
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    self.assertGreater(luminance[0], 0.95)
    self.assertTrue(np.all(np.diff(luminance) < -0.01))
    for channel in (red, green, blue):
      self.assertTrue(np.all(np.diff(channel) <= 1e-6))

  def test_names_of_classes_do_not_overlap(self, num_classes=100):
    figure = partition_figure.create_figure(
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
    figure = partition_figure.create_figure(
      np.ones([num_clients, num_classes], int),
      [f'{n}, {"a name of many words " * (n % 5)}' for n in range(num_classes)],
      'image_folder, as in /home/somebody/data/collections/2026/flowers,'
      ' 6 clients: R unknown, as the class of 480 images is',
    )
    self.assertEqual(cut_text.measure(figure), 0)


if __name__ == '__main__':
  absltest.main()
