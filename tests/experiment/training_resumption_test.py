# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that resumed training gives bitwise equal results."""

import dataclasses
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from tests.experiment import linear_program
from tests.experiment import training_test_case


class TrainingResumptionTest(training_test_case.TrainingTestCase):
  def setUp(self):
    super().setUp()
    self._whole, self._cut = (
      pathlib.Path(self.create_tempdir(name).full_path) for name in ('a', 'b')
    )

  def _assert_same_files(self):
    self.assertEqual(
      self.read_numbers(self._cut), self.read_numbers(self._whole)
    )

  @parameterized.named_parameters(
    ('stateless', {}),
    ('stateful', {'keep_client_momentum': True}),
    ('robust', {'aggregator': 'robust'}),
    (
      'private',
      {
        'aggregator': 'differential_privacy',
        'noise_multiplier': 0.1,
        'clipping_norm': 0.1,
        'dropout_probability': 0.4,
      },
    ),
  )
  @pytest.mark.slow
  def test_resumed_run_equals_one_that_ran_through(self, options):
    def train(folder, total_rounds, **changes):
      program = linear_program.create_program(total_rounds, **options)
      return self.train(folder, total_rounds, program=program, **changes)

    expected = train(self._whole, 4)
    train(self._cut, 2)
    rounds = []
    found = train(self._cut, 4, on_round=lambda n, _: rounds.append(n))
    self.assertEqual(rounds, [3, 4])
    self.assert_same(found, expected)
    self._assert_same_files()

  @parameterized.named_parameters(
    # As after a kill between writing metrics and state.
    ('missing', lambda path: path.unlink()),
    ('damaged', lambda path: path.write_bytes(b'')),
  )
  def test_lost_checkpoint_costs_the_rounds_after_the_one_before(self, lose):
    expected = self.train(self._whole, 4)
    self.train(self._cut, 4)
    for number in (3, 4):
      lose(self._cut / f'checkpoints/program_state_{number}.npz')
    rounds = []
    found = self.train(self._cut, 4, on_round=lambda n, _: rounds.append(n))
    self.assertEqual(rounds, [3, 4])
    self.assert_same(found, expected)
    self._assert_same_files()

  def test_finished_run_has_nothing_left_to_do(self):
    first = self.train(self._cut, 2)
    rounds = []
    again = self.train(self._cut, 2, on_round=lambda n, _: rounds.append(n))
    self.assertEmpty(rounds)
    self.assertEqual(again[1:], first[1:])
    self.assertEqual([type(value) for value in again[1:4]], [int, float, float])

  def test_rows_are_those_of_every_second_round_and_of_the_last(self):
    each = self.train(self._whole, 5)
    program = dataclasses.replace(
      linear_program.create_program(5), rounds_per_evaluation=2
    )
    second = self.train(self._cut, 5, program=program)
    self.assert_same(
      second.state.global_model_weights, each.state.global_model_weights
    )
    all_rows, rows = map(self.read_numbers, (self._whole, self._cut))
    # The best accuracy is that of the evaluated rounds.
    for row in (*all_rows, *rows):
      del row['test/best_accuracy']
    self.assertEqual(rows, [all_rows[number] for number in (0, 2, 4, 5)])

  def test_interrupted_run_repeats_the_rounds_since_the_evaluation(self):
    program = dataclasses.replace(
      linear_program.create_program(5), rounds_per_evaluation=3
    )

    def interrupt(round_num, _):
      if round_num == 3:
        raise KeyboardInterrupt

    self.train(self._whole, 5, program=program)
    with self.assertRaises(KeyboardInterrupt):
      self.train(self._cut, 5, interrupt, program)
    self.train(self._cut, 5, program=program)
    self._assert_same_files()


if __name__ == '__main__':
  absltest.main()
