# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the program that draws learning curves."""

import pathlib

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from launch import plot
from launch import program

_METRICS = """\
round,test/accuracy,client/label_ratio,client/micro_threshold_accuracy
0,0.25,0.0,0.0
1,0.5,0.125,1.0
"""


class PlotTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    for name in ('semifl', 'alone'):
      (self.folder / name).mkdir()
      (self.folder / name / 'metrics.csv').write_text(_METRICS)

  def _plot(self, **flag_values):
    values = {
      'experiments': [str(self.folder / n) for n in ('semifl', 'alone')],
      'plot_files': [str(self.folder / 'curves.svg')],
    }
    with flagsaver.flagsaver(**(values | flag_values)):
      plot.main()
    return (self.folder / 'curves.svg').read_text()

  def test_draws_all_experiments(self):
    picture = self._plot(title='A title')
    # Matplotlib says in a comment what the shapes of letters spell.
    for text in ('semifl', 'alone', 'A title', 'test accuracy'):
      self.assertIn(f'<!-- {text}', picture)

  def test_names_can_be_given(self):
    picture = self._plot(names=['SemiFL', 'labels alone'])
    self.assertIn('<!-- labels alone -->', picture)

  @parameterized.named_parameters(
    ('none', {'experiments': None}, '--experiments=None: name the folder'),
    ('no_such_folder', {'experiments': ['nowhere']}, '--experiments=.*nowhere'),
    ('too_few_names', {'names': ['a']}, '--names=.*1 names for 2 exp'),
    ('same_names', {'names': ['a', 'a']}, '--names=.*must differ; found a, a'),
    (
      'no_such_place',
      {'plot_files': ['/proc/nothing/a.png']},
      '--plot_files=.*No such file',
    ),
  )
  def test_bad_flags_are_named(self, flag_values, message):
    with self.assertRaisesRegex(program.FlagError, message):
      self._plot(**flag_values)


if __name__ == '__main__':
  absltest.main()
