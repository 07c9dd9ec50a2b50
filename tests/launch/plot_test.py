# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the program that plots learning curves."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from launch import plot
from tests.launch import programs
from tff_semifl import settings

_METRICS = """\
round,test/accuracy,client/label_ratio,client/pseudo_accuracy,mine
0,0.25,0.0,0.0,7
1,0.5,0.125,0.5,7
"""


class PlotTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    for name in ('semifl', 'alone', 'other/semifl'):
      self._write(name, _METRICS)

  def _write(self, name, metrics):
    (self.folder / name).mkdir(parents=True)
    (self.folder / name / 'metrics.csv').write_text(metrics)

  def _folders(self, *names):
    return [str(self.folder / name) for name in names]

  def _plot(self, **flag_values):
    """Runs the program, and returns the files that it names."""
    values = {
      'experiments': self._folders('semifl', 'alone'),
      'output_file': self._folders('curves.svg'),
    }
    lines = programs.run(plot.main, plot.Plot(), **(values | flag_values))
    return [line.removeprefix('figure: ') for line in lines]

  def _read(self, name):
    return (self.folder / name).read_text()

  def test_draws_all_experiments(self):
    self._plot(title='A title')
    # Matplotlib writes each text as a comment beside its shapes.
    for text in ('semifl', 'alone', 'A title', 'Test accuracy', 'Label ratio'):
      self.assertIn(f'<!-- {text} -->', self._read('curves.svg'))

  def test_metrics_that_are_asked_for(self):
    self._write(
      'new', 'round,client/weight_diversity,mine\n0,,1\n1,0.5,2\n2,0.25,\n'
    )
    self._plot(
      experiments=self._folders('new', 'semifl'),
      metrics=['client/weight_diversity', 'mine'],
    )
    for text in ('client/weight_diversity', 'mine', 'new', 'semifl'):
      self.assertIn(f'<!-- {text} -->', self._read('curves.svg'))
    self.assertNotIn('<!-- Test accuracy -->', self._read('curves.svg'))

  def test_format_that_there_is_not(self):
    for files in (['a.doc'], []):
      with self.assertRaisesRegex(
        settings.SettingError, 'must be files that each end in .png, .pdf or'
      ):
        self._plot(output_file=files)

  @parameterized.parameters(
    ({'experiments': None}, 'experiments: '),
    ({'experiments': ['nowhere']}, 'experiments=.*nowhere'),
    ({'experiments': ['a', 'b', 'a']}, 'experiments=.*: '),
    ({'experiments': ['a/semifl', 'b/semifl']}, 'names: '),
    ({'names': ['a']}, 'names=.*1 names for 2 exp'),
    ({'metrics': ['mine', 'client/loss']}, 'metrics=mine,client/loss: '),
    ({'metrics': ['mine', 'mine']}, 'metrics=mine,mine: '),
  )
  def test_bad_flags_are_named(self, flag_values, message):
    with self.assertRaisesRegex(settings.SettingError, message):
      self._plot(**flag_values)

  def test_experiments_with_nothing_to_draw(self):
    self._write('new', 'round,test/accuracy\n')
    with self.assertRaisesRegex(
      settings.SettingError, 'experiments=.*new/metrics.csv has no round yet'
    ):
      self._plot(experiments=self._folders('new'))
    self._write('zero', 'round,mine\n0,0\n1,0\n')
    with self.assertRaisesRegex(
      settings.SettingError, 'experiments=.*nothing to draw: none of mine is'
    ):
      self._plot(experiments=self._folders('zero'), metrics=['mine'])


if __name__ == '__main__':
  absltest.main()
