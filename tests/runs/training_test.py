# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the training program: memories, statistics, the final test."""

import dataclasses
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import linear_reference
from tests.runs import linear_program
from tests.runs import training_test_case
from tff_semifl.runs import training


class TrainingTest(training_test_case.TrainingTestCase):
  @pytest.mark.slow
  def test_statistics_are_computed_after_each_round(self):
    program = linear_program.create_program(1, has_federated_statistics=True)
    final = self.train(self.create_tempdir().full_path, 1, program=program)
    # Pixels of all clients, images 6 to 29; the first six are the server's.
    pixels = linear_reference.create_images(30)[6:].astype(np.float64)
    mean, variance = final.state.global_model_weights.non_trainable
    np.testing.assert_allclose(mean, [pixels.mean()], rtol=1e-5)
    np.testing.assert_allclose(variance, [pixels.var(ddof=1)], rtol=1e-5)

  @parameterized.parameters(
    # Rounds 0 to 4, of which 0, 3 and 4 are evaluated.
    (True, 5),
    (False, 3),
  )
  @pytest.mark.slow
  def test_statistics_that_nobody_asks_for(self, for_clients, expected):
    program = linear_program.create_program(4, has_federated_statistics=True)
    computation = program.statistics.computation
    passes = []

    def compute(weights, data):
      passes.append(data)
      return computation(weights, data)

    program = dataclasses.replace(
      program,
      rounds_per_evaluation=3,
      statistics=program.statistics._replace(
        computation=compute, for_clients=for_clients
      ),
    )
    self.train(self.create_tempdir().full_path, 4, program=program)
    self.assertLen(passes, expected)

  @pytest.mark.slow
  def test_final_test_has_statistics_of_its_own_d11(self):
    program = linear_program.create_program(2, has_federated_statistics=True)
    folder = self.create_tempdir().full_path
    final = self.train(folder, 2, program=program)
    images = linear_reference.create_images(30).astype(np.float64)
    batches = [images[start : start + 4] for start in range(0, 30, 4)]
    self.assertLen(batches, 8)
    mean = np.mean([batch.mean() for batch in batches])
    variance = np.mean([batch.var(ddof=1) for batch in batches])
    scale, offset, kernel, bias = final.state.global_model_weights.trainable
    normalized = (images - mean) / np.sqrt(variance + 1e-5) * scale + offset
    logits = normalized.reshape(30, -1) @ kernel + bias
    labels = np.arange(30) % 3
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(30), labels]
    row = self.read_metrics(folder)[-1]
    self.assertEqual(
      list(row),
      [*training_test_case.COLUMNS, 'final_test/accuracy', 'final_test/loss'],
    )
    self.assertAlmostEqual(
      float(row['final_test/loss']), losses.mean(), places=4
    )
    self.assertAlmostEqual(
      float(row['final_test/accuracy']),
      np.mean(logits.argmax(axis=1) == labels),
      places=6,
    )

    with self.subTest('changes nothing else'):
      other = self.create_tempdir().full_path
      without = dataclasses.replace(program, final_test=None)
      again = self.train(other, 2, program=without)
      tf.nest.map_structure(
        np.testing.assert_array_equal, again.state, final.state
      )
      self.assertNotEqual(row['final_test/loss'], row['test/loss'])
      row_without = self.read_metrics(other)[-1]
      self.assertEqual(list(row_without), training_test_case.COLUMNS)
      for column in {*training_test_case.COLUMNS} - {'seconds'}:
        self.assertEqual(row_without[column], row[column])

  def test_divergence_is_reported_and_not_saved(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(4, learning_rate=1e38)
    with self.assertRaisesRegex(
      training.TrainingDivergedError, 'not finite after round 0'
    ):
      self.train(folder, 4, program=program)
    self.assertEmpty(list(pathlib.Path(folder, 'checkpoints').iterdir()))


if __name__ == '__main__':
  absltest.main()
