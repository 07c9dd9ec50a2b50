# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that learning curves show the values of the tables."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.experiment import metrics_table
from tff_semifl.results import learning_curves

_ROUNDS = np.arange(3.0)
_SEMIFL = {
  'round': _ROUNDS,
  'test/accuracy': np.array([0.2, 0.4, 0.5]),
  'client/label_ratio': np.array([0.0, 0.0, 0.3]),
  'client/pseudo_accuracy': np.array([0.0, 0.4, 0.5]),
  'client/threshold_accuracy': np.array([0.0, 0.0, 0.7]),
  'client/micro_threshold_accuracy': np.array([0.0, 0.0, 0.8]),
}
_ALONE = {name: np.zeros(3) for name in _SEMIFL} | {
  'round': _ROUNDS,
  'test/accuracy': np.array([0.2, 0.3, 0.35]),
}
_CURVES = learning_curves.LEARNING_CURVES
_QUALITY = learning_curves.PSEUDO_LABEL_QUALITY


def _legend(fig):
  [legend] = fig.legends
  return [text.get_text() for text in legend.get_texts()]


def _band(axes):
  """Returns the lower and the upper edge of the one band, by round."""
  [band] = axes.collections
  vertices = band.get_paths()[0].vertices
  return {
    round_num: (ys.min(), ys.max())
    for round_num in np.unique(vertices[:, 0])
    for ys in [vertices[vertices[:, 0] == round_num, 1]]
  }


class LearningCurvesTest(parameterized.TestCase):
  def test_curves_are_the_columns_in_percent(self):
    fig = learning_curves.create_figure(
      {'SemiFL': [_SEMIFL], 'labels alone': [_ALONE]}, _CURVES, 'Both'
    )
    accuracy, ratio, right = fig.axes
    semifl, alone = accuracy.lines
    np.testing.assert_allclose(semifl.get_ydata(), [20, 40, 50])
    np.testing.assert_allclose(alone.get_ydata(), [20, 30, 35])
    np.testing.assert_array_equal(alone.get_xdata(), [0, 1, 2])
    self.assertEqual(_legend(fig), ['SemiFL', 'labels alone'])
    # Who labels nothing has no curve of it. In round 0 nobody labels; in round
    # 1 nobody was sure, which is a ratio of 0, and nothing to be right.
    for axes, values in (
      (ratio, [np.nan, 0, 30]),
      (right, [np.nan] * 2 + [80]),
    ):
      [line] = axes.lines
      self.assertEqual(line.get_label(), 'SemiFL')
      np.testing.assert_allclose(line.get_ydata(), values)

  def test_references_are_levels_of_their_last_rounds(self):
    other = {
      'round': np.array([10.0, 20.0]),
      'test/accuracy': np.array([0.1, 0.9]),
    }
    fig = learning_curves.create_figure(
      {'SemiFL': [_SEMIFL]},
      _CURVES,
      '',
      {'FixMatch': [other, _SEMIFL], 'labels alone': [_ALONE]},
    )
    accuracy, ratio, _ = fig.axes
    _, fixmatch, alone = accuracy.lines
    np.testing.assert_allclose(fixmatch.get_ydata(), [70, 70])
    np.testing.assert_allclose(alone.get_ydata(), [35, 35])
    self.assertNotEqual(fixmatch.get_linestyle(), alone.get_linestyle())
    # Some runs of one name label images; those of the other name do not.
    self.assertLen(ratio.lines, 1)
    self.assertEqual(accuracy.get_xlim(), ratio.get_xlim())
    self.assertEqual(
      _legend(fig),
      ['SemiFL', 'FixMatch, last round (2 runs)', 'labels alone, last round'],
    )

  def test_quality_of_pseudo_labels_is_figure_6(self):
    fig = learning_curves.create_figure({'a': [_SEMIFL]}, _QUALITY, '')
    self.assertEqual(
      [axes.get_title() for axes in fig.axes],
      ['Accuracy of pseudo-labels', 'Accuracy above threshold', 'Label ratio'],
    )
    for axes, values in zip(
      fig.axes,
      ([np.nan, 40, 50], [np.nan, np.nan, 70], [np.nan, 0, 30]),
      strict=True,
    ):
      [line] = axes.lines
      np.testing.assert_allclose(line.get_ydata(), values)

  def test_runs_of_one_name_are_their_mean_in_a_band(self):
    runs = [
      {'round': np.arange(len(values)), 'test/accuracy': np.array(values)}
      # The last run has more rounds than the other runs.
      for values in ([0.2, 0.4], [0.3, 0.4], [0.7, 0.4, 0.9])
    ]
    fig = learning_curves.create_figure(
      {'seeds': runs, 'one': runs[:1]}, _CURVES, ''
    )
    [axes] = fig.axes
    seeds, one = axes.lines
    np.testing.assert_array_equal(seeds.get_xdata(), [0, 1])
    np.testing.assert_allclose(seeds.get_ydata(), [40, 40])
    np.testing.assert_allclose(one.get_ydata(), [20, 40])
    # Distances from the mean are 20, 10 and 30: of three numbers the variance
    # is (400 + 100 + 900) / 2 = 700.
    deviation = np.sqrt(700)
    band = _band(axes)
    np.testing.assert_allclose(band[0], (40 - deviation, 40 + deviation))
    np.testing.assert_allclose(band[1], (40, 40))
    self.assertEqual(_legend(fig), ['seeds (3 runs)', 'one'])
    [legend] = fig.legends
    self.assertIn('standard deviation', legend.get_title().get_text())

  def test_nothing_to_draw(self):
    with self.assertRaisesRegex(
      metrics_table.MetricsError,
      'nothing to draw: none of client/pseudo_accuracy, .* is above 0',
    ):
      learning_curves.create_figure({'alone': [_ALONE]}, _QUALITY, '')

  def test_nothing_overlaps_or_is_cut_off(self, num_experiments=9):
    names = [f'An experiment, number {n}' for n in range(num_experiments)]
    fig = learning_curves.create_figure(
      {name: [_SEMIFL] for name in names}, _CURVES, 'A title of some length'
    )
    fig.draw_without_rendering()
    [legend] = fig.legends
    boxes = [axes.get_tightbbox() for axes in fig.axes]
    for box in (*boxes, legend.get_window_extent()):
      self.assertGreaterEqual(min(box.x0, box.y0), 0)
      self.assertLessEqual(box.x1, fig.bbox.x1)
      self.assertLessEqual(box.y1, fig.bbox.y1)
    for left, right in zip(boxes, boxes[1:], strict=False):
      self.assertLess(left.x1, right.x0)
    for box in boxes:
      self.assertGreater(box.y0, legend.get_window_extent().y1)
    # Most of the figure is for the curves.
    for axes in fig.axes:
      self.assertGreater(axes.bbox.height, 0.4 * fig.bbox.height)


if __name__ == '__main__':
  absltest.main()
