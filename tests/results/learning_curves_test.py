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
_RATIO = [learning_curves.create_panel('client/label_ratio')]


def _legend(fig):
  [legend] = fig.legends
  return [text.get_text() for text in legend.get_texts()]


def _band(axes):
  """The lower and the upper edge of the single band, by round."""
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
    # Systems without pseudo-labels have no curve of them. In round 0 there are
    # no pseudo-labels; in round 1 none is confident, which is a ratio of 0 and
    # an undefined accuracy.
    for axes, values in (
      (ratio, [np.nan, 0, 30]),
      (right, [np.nan] * 2 + [80]),
    ):
      [line] = axes.lines
      self.assertEqual(line.get_label(), 'SemiFL')
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
    # Distances from the mean are 20, 10 and 30: the variance of three numbers
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
      'nothing to draw: none of client/label_ratio is above 0',
    ):
      learning_curves.create_figure({'alone': [_ALONE]}, _RATIO, '')


if __name__ == '__main__':
  absltest.main()
