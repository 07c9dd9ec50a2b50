# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that an interrupted training program resumes."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.runs import linear_program
from tests.runs import training_test_case


class TrainingResumptionTest(training_test_case.TrainingTestCase):
  @parameterized.named_parameters(
    ('stateless', {}),
    # D5: what clients keep is resumed too.
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
    whole, cut = (self.create_tempdir(name).full_path for name in ('a', 'b'))
    expected = self.train(
      whole, 4, program=linear_program.create_program(4, **options)
    )
    self.train(cut, 2, program=linear_program.create_program(2, **options))
    rounds = []
    found = self.train(
      cut,
      4,
      on_round=lambda n, _: rounds.append(n),
      program=linear_program.create_program(4, **options),
    )
    self.assertEqual(rounds, [3, 4])
    for a, b in zip(
      tf.nest.flatten(expected), tf.nest.flatten(found), strict=True
    ):
      np.testing.assert_array_equal(a, b)
    for a, b in zip(
      self.read_metrics(whole), self.read_metrics(cut), strict=True
    ):
      self.assertEqual(a | {'seconds': None}, b | {'seconds': None})

  def test_round_cut_off_between_metrics_and_state_is_run_again(self):
    folder = self.create_tempdir().full_path
    self.train(folder, 2)
    pathlib.Path(folder, 'states/program_state_2.npz').unlink()
    rounds = []
    self.train(folder, 3, on_round=lambda n, _: rounds.append(n))
    self.assertEqual(rounds, [2, 3])
    self.assertEqual(
      [row['round'] for row in self.read_metrics(folder)], list('0123')
    )

  def test_damaged_checkpoint_costs_the_rounds_after_the_one_before_it(self):
    folder = self.create_tempdir().full_path
    expected = self.train(folder, 4)
    rows = self.read_metrics(folder)
    for round_num in (3, 4):
      path = pathlib.Path(folder, f'states/program_state_{round_num}.npz')
      path.write_bytes(b'')
    rounds = []
    found = self.train(folder, 4, on_round=lambda n, _: rounds.append(n))
    self.assertEqual(rounds, [3, 4])
    for a, b in zip(
      tf.nest.flatten(expected), tf.nest.flatten(found), strict=True
    ):
      np.testing.assert_array_equal(a, b)
    for a, b in zip(rows, self.read_metrics(folder), strict=True):
      self.assertEqual(a | {'seconds': None}, b | {'seconds': None})

  def test_finished_run_has_nothing_left_to_do(self):
    folder = self.create_tempdir().full_path
    first = self.train(folder, 2)
    rounds = []
    again = self.train(folder, 2, on_round=lambda n, _: rounds.append(n))
    self.assertEmpty(rounds)
    self.assertEqual(again[1:], first[1:])
    self.assertEqual([type(value) for value in again[1:4]], [int, float, float])


if __name__ == '__main__':
  absltest.main()
