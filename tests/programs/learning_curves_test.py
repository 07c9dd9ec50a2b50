# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that learning curves show what is in the tables."""

import pathlib

from absl.testing import absltest
import numpy as np
import PIL.Image

from tff_semifl.programs import learning_curves

_HEADER = (
  'round,test/accuracy,client/label_ratio,client/micro_threshold_accuracy\n'
)
_SEMIFL = {
  'round': np.arange(3.0),
  'test/accuracy': np.array([0.2, 0.4, 0.5]),
  'client/label_ratio': np.array([0.0, 0.1, 0.3]),
  'client/micro_threshold_accuracy': np.array([0.0, 0.9, 0.8]),
}
_ALONE = {name: np.zeros(3) for name in _SEMIFL} | {
  'round': np.arange(3.0),
  'test/accuracy': np.array([0.2, 0.3, 0.35]),
}


class LearningCurvesTest(absltest.TestCase):
  def _write(self, text):
    file = pathlib.Path(self.create_tempfile().full_path)
    file.write_text(text)
    return file

  def test_curves_are_the_columns_in_percent(self):
    picture = learning_curves.create_figure(
      {'SemiFL': _SEMIFL, 'labels alone': _ALONE}, 'Both'
    )
    accuracy, ratio, right = picture.axes
    semifl, alone = accuracy.lines
    np.testing.assert_allclose(semifl.get_ydata(), [20, 40, 50])
    np.testing.assert_allclose(alone.get_ydata(), [20, 30, 35])
    np.testing.assert_array_equal(alone.get_xdata(), [0, 1, 2])
    self.assertEqual(
      [text.get_text() for text in accuracy.get_legend().get_texts()],
      ['SemiFL', 'labels alone'],
    )
    # Who labels nothing has no curve of it; nor has a round without a label.
    for axes, values in ((ratio, [10, 30]), (right, [90, 80])):
      (line,) = axes.lines
      self.assertEqual(line.get_label(), 'SemiFL')
      np.testing.assert_allclose(line.get_ydata()[1:], values)
      self.assertTrue(np.isnan(line.get_ydata()[0]))
    for axes in picture.axes:
      self.assertEqual(axes.get_xlabel(), 'round')
      self.assertIn('%', axes.get_ylabel())

  def test_curves_differ_in_colour_and_in_line(self):
    picture = learning_curves.create_figure(
      {str(n): _ALONE for n in range(4)}, ''
    )
    lines = picture.axes[0].lines
    for get in ('get_color', 'get_linestyle'):
      self.assertLen({getattr(line, get)() for line in lines}, 4)

  def test_labels_alone_have_one_panel(self):
    picture = learning_curves.create_figure({'labels alone': _ALONE}, '')
    self.assertLen(picture.axes, 1)

  def test_table_is_read(self):
    file = self._write(_HEADER + '0,0.25,0.0,0.0\n1,0.5,0.125,1.0\n')
    metrics = learning_curves.read_metrics(file)
    np.testing.assert_array_equal(metrics['round'], [0, 1])
    np.testing.assert_array_equal(metrics['test/accuracy'], [0.25, 0.5])
    np.testing.assert_array_equal(metrics['client/label_ratio'], [0, 0.125])

  def test_what_is_no_table_is_refused(self):
    for text, message in (
      ('', 'no round yet'),
      ('round,accuracy\n0,0.5\n', 'no table of metrics'),
      (_HEADER + '0,high,0,0\n', 'no table of metrics'),
      (_HEADER + '0,0.5\n', 'no table of metrics'),
      (_HEADER, 'no round yet'),
    ):
      with self.assertRaisesRegex(learning_curves.MetricsError, message):
        learning_curves.read_metrics(self._write(text))
    with self.assertRaisesRegex(
      learning_curves.MetricsError, 'No such file or directory'
    ):
      learning_curves.read_metrics(pathlib.Path('nothing', 'metrics.csv'))

  def test_writes_what_the_names_of_the_files_say(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    files = [str(folder / 'new' / name) for name in ('a.png', 'a.svg')]
    learning_curves.draw_learning_curves({'SemiFL': _SEMIFL}, 'One', files)
    with PIL.Image.open(files[0]) as image:
      self.assertEqual(image.format, 'PNG')
      self.assertGreater(image.width, 1000)
    self.assertIn('<svg', pathlib.Path(files[1]).read_text())


if __name__ == '__main__':
  absltest.main()
