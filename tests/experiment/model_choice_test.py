# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the choice of the exported round, and of early stopping."""

import dataclasses
import functools
import math
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests.experiment import linear_program
from tests.experiment import training_test_case
from tff_semifl.core import evaluation
from tff_semifl.experiment import model_selection

_NAN = math.nan


@functools.cache
def _build_evaluation():
  return evaluation.build_evaluation(
    linear_reference.create_classifier(), keeps_logits=True
  )


def _create_program(total_rounds, measure, **choice):
  choice = {'column': 'test/quality', 'higher_is_better': True} | choice
  return dataclasses.replace(
    linear_program.create_program(total_rounds),
    evaluation=_build_evaluation(),
    measure=measure,
    model_choice=model_selection.ModelChoice(**choice),
  )


def _script(values, first_round=0):
  """A measurement with a given quality for each round."""
  remaining = iter(values[first_round:])
  return lambda _: {'quality': next(remaining)}


class ModelChoiceTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0.5, 0.25, 0.5], True, (0.5, 0, 2)),
    ([0.5, 0.25, 0.5], False, (0.25, 1, 1)),
    ([0.5, 0.75, 0.625], True, (0.75, 1, 1)),
    ([_NAN, 0.25, _NAN], True, (0.25, 1, 1)),
    ([0.0, _NAN], False, (0.0, 0, 1)),
  )
  def test_best_round(self, values, higher_is_better, expected):
    choice = model_selection.ModelChoice(
      column='a', higher_is_better=higher_is_better
    )
    best = model_selection.Best()
    for round_num, value in enumerate(values):
      now = model_selection.Best(round_num=round_num)
      best = choice.update(best, {'a': value}, now)
    self.assertEqual(best[:3], expected)


class TrainingTest(training_test_case.TrainingTestCase):
  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def _rounds(self):
    return [int(row['round']) for row in self.read_metrics(self._folder)]

  def test_metrics_are_columns_after_all_others_and_change_none(self):
    measure = model_selection.Measurement(
      ['recall', 'brier'], ['c', 'a', 'b'], np.arange(30) % 3
    )
    program = _create_program(2, measure, column='test/brier')
    chosen = self.train(self._folder, 2, program=program)
    other = self.create_tempdir().full_path
    self.assert_same(chosen[:5], self.train(other, 2)[:5])
    rows = self.read_numbers(self._folder)
    names = ['recall/c', 'recall/a', 'recall/b', 'brier']
    self.assertEqual(
      list(rows[0]),
      [*training_test_case.COLUMNS, *(f'test/{name}' for name in names)],
    )
    for row, plain in zip(rows, self.read_numbers(other), strict=True):
      self.assertEqual({name: row[name] for name in plain}, plain)
      recalls = [float(row[f'test/recall/{name}']) for name in 'abc']
      # Each class has ten images.
      self.assertAlmostEqual(
        float(row['test/accuracy']), np.mean(recalls), places=6
      )

  def test_best_model_is_that_of_its_round(self):
    values = [0.25, 0.75, 0.5, 0.5]
    final = self.train(
      self._folder, 3, program=_create_program(3, _script(values))
    )
    self.assertEqual(final.best[:3], (0.75, 1, 2))
    expected = self.train(self.create_tempdir().full_path, 1)
    self.assert_same(final.best.weights, expected.state.global_model_weights)
    self.assertAlmostEqual(final.best.accuracy, expected.accuracy)

  def test_stops_and_may_go_on_with_more_patience(self):
    values = [0.25, 0.5, 0.5, _NAN, 0.625, 0.5]
    program = _create_program(5, _script(values), stop_after=2)
    self.train(self._folder, 5, program=program)
    self.assertEqual(self._rounds(), [0, 1, 2, 3])
    started = []
    again = training_test_case.train(
      self._folder, program, on_start=started.append
    )
    self.assertEqual((again.round_num, started), (3, []))
    program = _create_program(5, _script(values, 4), stop_after=3)
    final = self.train(self._folder, 5, program=program)
    self.assertEqual(self._rounds(), [0, 1, 2, 3, 4, 5])
    self.assertEqual(final.best[:3], (0.625, 4, 1))

  def test_resumed_after_any_kill_it_ends_with_the_same_bits(self):
    values = [0.25, 0.5, 0.375, 0.625, 0.5]
    whole = self.create_tempdir().full_path
    expected = self.train(whole, 4, program=_create_program(4, _script(values)))
    self.train(self._folder, 3, program=_create_program(3, _script(values)))
    # As after a kill before the checkpoint of round 3.
    pathlib.Path(self._folder, 'checkpoints/program_state_3.npz').unlink()
    final = self.train(
      self._folder, 4, program=_create_program(4, _script(values, 3))
    )
    tf.nest.map_structure(np.testing.assert_array_equal, final, expected)
    self.assertEqual(final.best[:3], (0.625, 3, 1))


if __name__ == '__main__':
  absltest.main()
